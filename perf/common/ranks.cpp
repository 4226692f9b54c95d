// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/ranks.hpp"

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <thread>

namespace sparsecoll::perf {
namespace {

/// What the threads of one run share.
struct Meeting {
  explicit Meeting(int size) : gate(size), slots(size), comms(size), devices(size) {}
  std::barrier<> gate;
  std::vector<Bytes> slots;
  std::vector<sparsecollComm_t> comms;
  std::vector<int> devices;
};

class LocalRanks final : public Ranks {
 public:
  LocalRanks(int rank, int size, Meeting& meeting) : Ranks(rank, size), meeting_(meeting) {}

  void barrier() override { meeting_.gate.arrive_and_wait(); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    meeting_.slots[rank()].assign(mine.begin(), mine.end());
    barrier();
    std::vector<Bytes> all = meeting_.slots;
    barrier();  // nobody writes its slot again before everybody has read it
    return all;
  }

  Communicator connect(const sparsecollConfig_t& config) override {
    meeting_.devices[rank()] = config.device;
    barrier();
    if (rank() == 0) {
      require(
          sparsecollCommInitAll(meeting_.comms.data(), size(), meeting_.devices.data(), &config),
          nullptr, "sparsecollCommInitAll");
    }
    barrier();
    Communicator mine(meeting_.comms[rank()]);
    barrier();
    return mine;
  }

 private:
  Meeting& meeting_;
};

int launch_local(int size, const Body& body) {
  Meeting meeting(size);
  std::vector<int> status(size, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        LocalRanks ranks(rank, size, meeting);
        status[rank] = body(ranks);
      } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        std::_Exit(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(status.begin(), status.end());
}

}  // namespace

std::vector<std::string> transports() {
  if (mpi_available()) return {"mpi", "local"};
  return {"local"};
}

int launch(const std::string& transport, int threads, const Body& body) {
  return transport == "mpi" ? launch_mpi(body) : launch_local(threads, body);
}

}  // namespace sparsecoll::perf
