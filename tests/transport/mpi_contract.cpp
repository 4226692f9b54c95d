// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the transport over MPI keeps the contract of Transport, with messages of every form
// (src/transport/mpi_inbox.hpp).

#include <cstdio>

#include "core/error.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/contract.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi_eager.hpp"

namespace {

using namespace sparsecoll;

class MpiRank final : public contract::Rank {
 public:
  MpiRank(const MpiOptions& options, const contract::Traits& traits)
      : transport_(make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), options)),
        traits_(traits) {}

  Transport& transport() override { return *transport_; }
  void destroy() override { transport_.reset(); }
  const contract::Traits& traits() const override { return traits_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  std::vector<uint64_t> allgather(uint64_t own) override {
    std::vector<uint64_t> all(static_cast<size_t>(test::size_of(MPI_COMM_WORLD)));
    MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    return all;
  }

 private:
  std::unique_ptr<Transport> transport_;
  const contract::Traits& traits_;
};

/// A way to send messages, and sizes around its limits.
struct Variant {
  std::string name;
  MpiOptions options;
  contract::Traits traits;
};

contract::Traits traits(std::vector<size_t> sizes, size_t large) {
  contract::Traits traits;
  traits.sizes = std::move(sizes);
  traits.large = large;
  traits.close_is_collective = true;
  traits.knows_gone = false;
  traits.recovers = true;
  return traits;
}

Variant in_chunks(size_t chunk) {
  MpiOptions options;
  options.eager = false;
  options.max_message = chunk;
  return {text("chunks of ", chunk, " bytes"), options,
          traits({0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, 5 * chunk + 3,
                  9 * chunk},
                 std::min(size_t{3000000}, 100 * chunk))};
}

/// Returns a variant in which this rank sends eager messages or not. Ranks may differ in it.
Variant eager(const std::string& name, bool is_eager) {
  constexpr size_t kRest = kEagerBytes + 1, kLongest = kEagerBytes + kMaxEagerChunks * kRest;
  MpiOptions options;
  options.eager = is_eager;
  return {name, options,
          traits({kEagerBytes - 1, kEagerBytes, kEagerBytes + 1, kEagerBytes + 2,
                  kEagerBytes + kMaxEagerChunks, kEagerBytes + kMaxEagerChunks + 1,
                  kEagerBytes + kRest - 1, kEagerBytes + kRest, kEagerBytes + kRest + 1,
                  kEagerBytes + 2 * kRest, kEagerBytes + 2 * kRest + 1, kLongest - 1, kLongest,
                  kLongest + 1, 0, 70000},
                 3000000)};
}

std::vector<Variant> variants(int rank) {
  std::vector<Variant> all;
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}, size_t{4096}, size_t{1} << 20})
    all.push_back(in_chunks(chunk));
  all.push_back(eager("no rank eager", false));
  all.push_back(eager("all ranks eager", true));
  all.push_back(eager("rank 0 eager", rank == 0));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_contract, rank ", rank), 1);
  test::Verdict verdict;
  for (const Variant& variant : variants(rank)) {
    for (const contract::Case& each : contract::cases()) {
      MpiRank own(variant.options, variant.traits);
      const std::string wrong = contract::run(each, own);
      verdict.check(variant.name, wrong);
      if (wrong.empty()) continue;
      std::fprintf(stderr, "rank %d: %s: %s\n", rank, variant.name.c_str(), wrong.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this rank
    }
  }
  const int code = verdict.report("mpi_contract");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
