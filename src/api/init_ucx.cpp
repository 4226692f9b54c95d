// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators over UCX, which need no launcher.
#include "api/bridge.hpp"
#include "api/transport_init.hpp"
#include "core/environment.hpp"
#include "transport/rendezvous/client.hpp"
#include "transport/rendezvous/interfaces.hpp"
#include "transport/rendezvous/server.hpp"
#include "transport/ucx/transport.hpp"

using namespace sparsecoll;

namespace {

/// The exchange that the caller of sparsecollCommInitOob() passes.
class CallersBootstrap final : public Bootstrap {
 public:
  CallersBootstrap(int ranks, sparsecollAllgather_t allgather, void* user)
      : ranks_(static_cast<size_t>(ranks)), allgather_(allgather), user_(user) {}

  std::vector<std::byte> allgather(ConstBytes own) override {
    std::vector<std::byte> all(ranks_ * own.size());
    if (const int result = allgather_(user_, own.data(), all.data(), own.size()))
      fail(sparsecollSystemError, "allgather: expected 0, the caller's function returned ", result);
    return all;
  }

 private:
  size_t ranks_;
  sparsecollAllgather_t allgather_;
  void* user_;
};

void check_numbering(int nranks, int rank) {
  if (nranks < 1) fail(sparsecollInvalidArgument, "nranks: expected 1 or more, got ", nranks);
  if (rank < 0 || rank >= nranks)
    fail(sparsecollInvalidArgument, "rank: expected 0 to ", nranks - 1, ", got ", rank);
}

void run(const TransportInit& init, int nranks, int rank, Bootstrap& bootstrap) {
  UcxRank own{rank, nranks};
  if (const auto spin = init.config().spin_us) own.spin = std::chrono::microseconds(*spin);
  init.run(make_ucx_transport(own, bootstrap, init.deadline()));
}

}  // namespace

sparsecollResult_t sparsecollGetUniqueId(sparsecollUniqueId* id) {
  return on_init("sparsecollGetUniqueId", [&] {
    if (!id) fail(sparsecollInvalidArgument, "id: expected a pointer, got NULL");
    const SocketAddress address = choose_address(
        interfaces_of_system(), environment("SPARSECOLL_SOCKET_IFNAME").value_or(""));
    *id = encode(rendezvous::Server::of_process().open(address));
  });
}

sparsecollResult_t sparsecollCommInitRank(sparsecollComm_t* comm, int nranks, sparsecollUniqueId id,
                                          int rank, const sparsecollConfig_t* config) {
  return on_init("sparsecollCommInitRank", [&] {
    check_numbering(nranks, rank);
    const UniqueId decoded = decode(id);
    const TransportInit init(comm, config);
    rendezvous::Client client(decoded, {rank, nranks}, init.deadline());
    try {
      run(init, nranks, rank, client);
    } catch (const Error& error) {
      client.give_up(error);  // the other ranks need not wait
      throw;
    }
  });
}

sparsecollResult_t sparsecollCommInitOob(sparsecollComm_t* comm, int nranks, int rank,
                                         sparsecollAllgather_t allgather, void* user,
                                         const sparsecollConfig_t* config) {
  return on_init("sparsecollCommInitOob", [&] {
    check_numbering(nranks, rank);
    if (!allgather) fail(sparsecollInvalidArgument, "allgather: expected a function, got NULL");
    CallersBootstrap bootstrap(nranks, allgather, user);
    run(TransportInit(comm, config), nranks, rank, bootstrap);
  });
}
