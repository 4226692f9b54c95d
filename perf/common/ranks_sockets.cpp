// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that no MPI has started: perf/launch or torchrun.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/ranks.hpp"
#include "common/socket_world.hpp"

namespace sparsecoll::perf {
namespace {

class SocketRanks final : public Ranks {
 public:
  explicit SocketRanks(const SocketWorld& world)
      : Ranks(world.rank(), world.size()), world_(world) {}

  void barrier() override { allgather({}); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    return world_.allgather(mine);
  }

  Communicator connect(const sparsecollConfig_t& config) override {
    sparsecollUniqueId id{};
    if (rank() == 0) require(sparsecollGetUniqueId(&id), nullptr, "sparsecollGetUniqueId");
    id = gather_value(id).front();
    sparsecollComm_t comm = nullptr;
    require(sparsecollCommInitRank(&comm, size(), id, rank(), &config), nullptr,
            "sparsecollCommInitRank");
    return Communicator(comm);
  }

 private:
  const SocketWorld& world_;
};

}  // namespace

bool launched_without_mpi() { return SocketWorld::is_launched(); }

int launch_sockets(const Body& body) {
  try {
    const SocketWorld world;
    SocketRanks ranks(world);
    return body(ranks);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "rank %s: %s\n", std::getenv("RANK"), error.what());
    return 1;
  }
}

}  // namespace sparsecoll::perf
