// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// --transport simulated: ranks are threads of one process; a model computes the times of messages.
#include "simulated/ranks.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "calls/framed/framed_link.hpp"
#include "simulated/network.hpp"

namespace sparsecoll::perf {
namespace {

/// The processors of this process, and one of them for the ranks' threads. Only one rank runs at a
/// time, and the next one starts sooner if it need not wake up another processor.
class Processors {
 public:
  Processors() {
    const int here = sched_getcpu();
    known_ = here >= 0 && sched_getaffinity(0, sizeof all_, &all_) == 0;
    CPU_ZERO(&one_);
    if (known_) CPU_SET(static_cast<size_t>(here), &one_);
  }
  /// Binds the calling thread to the one processor. If the system refuses, it is only slower.
  void use_one() const { use(one_); }
  /// Lets the calling thread end its turn before a thread that it wakes up begins.
  static void wake_without_haste() {
    const sched_param none{};
    sched_setscheduler(0, SCHED_BATCH, &none);
  }
  /// Lets the calling thread use all processors.
  void use_all() const { use(all_); }

 private:
  void use(const cpu_set_t& set) const {
    if (known_) sched_setaffinity(0, sizeof set, &set);
  }
  bool known_;
  cpu_set_t all_, one_;
};

/// The state that the ranks of one run share. Only the rank that runs in virtual time touches it.
struct Simulation {
  Simulation(int size, const NetworkModel& network)
      : model(network),
        time(size, scale(size, network)),
        contributions(static_cast<std::size_t>(size)) {}

  static double scale(int size, const NetworkModel& model) {
    if (!model.compute) return 0;
    return model.cores > 0 ? std::max(1.0, size / model.cores) : 1;
  }
  const NetworkModel model;
  const Processors processors;
  VirtualTime time;
  std::vector<Bytes> contributions;
  std::vector<std::unique_ptr<Transport>> transports;
};

class SimulatedRanks final : public Ranks {
 public:
  SimulatedRanks(int rank, Simulation& simulation)
      : Ranks(rank, static_cast<int>(simulation.contributions.size())), simulation_(simulation) {
    simulation_.processors.use_one();
    Processors::wake_without_haste();
    simulation_.time.start(rank);
  }
  ~SimulatedRanks() override { simulation_.time.finish(rank()); }

  void barrier() override { simulation_.time.barrier(rank()); }
  double now() override { return simulation_.time.now(rank()); }
  void sleep(double seconds) override { simulation_.time.advance(rank(), seconds); }
  void prepare(const std::function<void()>& work) override {
    simulation_.processors.use_all();
    simulation_.time.prepare(rank(), work);
    simulation_.processors.use_one();
  }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    simulation_.contributions[static_cast<std::size_t>(rank())].assign(mine.begin(), mine.end());
    barrier();
    std::vector<Bytes> all = simulation_.contributions;
    barrier();  // no rank writes its contribution again before all have read it
    return all;
  }

  Communicator connect(const sparsecollConfig_t& given) override {
    if (rank() == 0)
      simulation_.transports =
          make_simulated_transports(simulation_.time, size(), simulation_.model);
    barrier();
    Config config = make_config(&given);
    config.values.timeoutMs = 0;  // deadlines are real times
    config.threads = 1;           // a rank is charged for its own thread only
    auto& transport = simulation_.transports[static_cast<std::size_t>(rank())];
    const auto made = std::make_shared<sparsecoll::Communicator>(
        std::make_unique<sparsecoll::FramedLink>(std::move(transport)), config);
    std::vector<std::uint64_t> nodes;
    for (int r = 0; r < size(); ++r)
      nodes.push_back(static_cast<std::uint64_t>(r / simulation_.model.ranks_per_node));
    made->network_model().topology.emplace(nodes);
    made->start();
    Communicator mine(static_cast<sparsecollComm_t>(communicators().insert(made)));
    barrier();
    return mine;
  }

 private:
  Simulation& simulation_;
};

}  // namespace

int launch_simulated(int size, const NetworkModel& model, const Body& body) {
#ifdef __GLIBC__
  // The heap of many ranks becomes fragmented. Larger blocks get a mapping of their own, so that
  // the system gets their memory back.
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
#endif
  Simulation simulation(size, model);
  std::vector<int> status(static_cast<std::size_t>(size), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        SimulatedRanks ranks(rank, simulation);
        status[static_cast<std::size_t>(rank)] = body(ranks);
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

}  // namespace sparsecoll::perf
