// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/ranks.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <thread>

#include "simulated/ranks.hpp"

namespace sparsecoll::perf {
namespace {

/// The state that the threads of one run share.
struct SharedState {
  SharedState(int size, bool nccl)
      : barrier(size), contributions(size), comms(size), devices(size), over_nccl(nccl) {}
  std::barrier<> barrier;
  std::vector<Bytes> contributions;
  std::vector<sparsecollComm_t> comms;
  std::vector<int> devices;
  const bool over_nccl;
};

class LocalRanks final : public Ranks {
 public:
  LocalRanks(int rank, SharedState& shared)
      : Ranks(rank, static_cast<int>(shared.contributions.size())), shared_(shared) {}

  void barrier() override { shared_.barrier.arrive_and_wait(); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    shared_.contributions[rank()].assign(mine.begin(), mine.end());
    barrier();
    std::vector<Bytes> all = shared_.contributions;
    barrier();  // no rank writes its contribution again before all have read it
    return all;
  }

  Communicator connect(const sparsecollConfig_t& config) override {
    if (shared_.over_nccl) return connect_nccl(*this, config);
    shared_.devices[rank()] = config.device;
    barrier();
    if (rank() == 0) {
      require(sparsecollCommInitAll(shared_.comms.data(), size(), shared_.devices.data(), &config),
              nullptr, "sparsecollCommInitAll");
    }
    barrier();
    Communicator mine(shared_.comms[rank()]);
    barrier();
    return mine;
  }

 private:
  SharedState& shared_;
};

int launch_threads(SharedState& shared, const Body& body) {
  const int size = static_cast<int>(shared.contributions.size());
  std::vector<int> status(size, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        LocalRanks ranks(rank, shared);
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

double Ranks::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Ranks::sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::vector<std::string> transports() {
  std::vector<std::string> names = {"local", "simulated", "ucx"};
  if (mpi_available()) names.insert(names.begin(), "mpi");
  if (nccl_available()) names.push_back("nccl");
  return names;
}

int launch(const World& world, const Body& body) {
  if (world.transport == "ucx" && (launched_without_mpi() || !mpi_available()))
    return launch_sockets(body);
  if (world.transport == "mpi" || world.transport == "ucx")
    return launch_mpi(body, world.transport == "ucx");
  if (world.transport == "simulated") return launch_simulated(world.threads, world.network, body);
  SharedState shared(world.threads, world.transport == "nccl");
  return launch_threads(shared, body);
}

std::string transport_text(const std::string& transport) {
  if (transport == "mpi" || transport == "ucx") return " over " + transport;
  if (transport == "simulated") return " over a simulated network";
  return transport == "nccl" ? " as threads over nccl" : " as threads";
}

}  // namespace sparsecoll::perf
