// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are threads of this process.
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "world.h"

namespace train {
namespace {

/// The state that the threads share. Each rank writes its value, and all read all values.
struct SharedState {
  explicit SharedState(int ranks) : barrier(ranks), values(static_cast<std::size_t>(ranks)) {}
  std::barrier<> barrier;
  std::vector<std::uint64_t> values;
};

class LocalWorld final : public World {
 public:
  LocalWorld(int rank, int size, sparsecollComm_t comm, SharedState& shared)
      : World(rank, size, comm), shared_(shared) {}

  std::vector<std::uint64_t> allgather(std::uint64_t mine) override {
    shared_.values[static_cast<std::size_t>(rank())] = mine;
    shared_.barrier.arrive_and_wait();
    std::vector<std::uint64_t> all = shared_.values;
    shared_.barrier.arrive_and_wait();  // no rank writes again before all have read
    return all;
  }

 private:
  SharedState& shared_;
};

}  // namespace

void run_local(int ranks, const sparsecollConfig_t& config, const Body& body) {
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(ranks));
  require(sparsecollCommInitAll(comms.data(), ranks, nullptr, &config), nullptr);
  SharedState shared(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      LocalWorld world(rank, ranks, comms[static_cast<std::size_t>(rank)], shared);
      try {
        body(world);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "train_digits: rank %d: %s\n", rank, error.what());
        std::_Exit(EXIT_FAILURE);  // the other threads wait for this one and cannot be joined
      }
    });
  }
  threads.clear();  // joins
  for (sparsecollComm_t comm : comms) require(sparsecollCommDestroy(comm), comm);
}

}  // namespace train
