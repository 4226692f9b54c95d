// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// --transport simulated: ranks as threads of one process over a network that is a model.
#include "simulated/ranks.hpp"

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

/// What the threads of one run share. Only the one whose turn it is touches it.
struct Meeting {
  Meeting(int size, const NetworkModel& network)
      : model(network), turns(size, scale(size, network)), slots(static_cast<std::size_t>(size)) {}

  static double scale(int size, const NetworkModel& model) {
    if (!model.compute) return 0;
    return model.cores > 0 ? std::max(1.0, size / model.cores) : 1;
  }
  const NetworkModel model;
  Turns turns;
  std::vector<Bytes> slots;
  std::vector<std::unique_ptr<Transport>> transports;
};

class SimulatedRanks final : public Ranks {
 public:
  SimulatedRanks(int rank, Meeting& meeting)
      : Ranks(rank, static_cast<int>(meeting.slots.size())), meeting_(meeting) {
    meeting_.turns.begin(rank);
  }
  ~SimulatedRanks() override { meeting_.turns.end(rank()); }

  void barrier() override { meeting_.turns.meet(rank()); }
  double now() override { return meeting_.turns.now(rank()); }
  void rest(double seconds) override { meeting_.turns.pass(rank(), seconds); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    meeting_.slots[static_cast<std::size_t>(rank())].assign(mine.begin(), mine.end());
    barrier();
    std::vector<Bytes> all = meeting_.slots;
    barrier();  // nobody writes its slot again before everybody has read it
    return all;
  }

  Communicator connect(const sparsecollConfig_t& given) override {
    if (rank() == 0)
      meeting_.transports = make_simulated_transports(meeting_.turns, size(), meeting_.model);
    barrier();
    Config config = make_config(&given);
    config.values.timeoutMs = 0;  // real time has no meaning here
    config.threads = 1;           // whose time is all that is charged
    auto& transport = meeting_.transports[static_cast<std::size_t>(rank())];
    const auto made = std::make_shared<sparsecoll::Communicator>(
        std::make_unique<sparsecoll::FramedLink>(std::move(transport)), config);
    made->start();
    Communicator mine(static_cast<sparsecollComm_t>(communicators().insert(made)));
    barrier();
    return mine;
  }

 private:
  Meeting& meeting_;
};

}  // namespace

int launch_simulated(int size, const NetworkModel& model, const Body& body) {
  Meeting meeting(size, model);
  std::vector<int> status(static_cast<std::size_t>(size), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        SimulatedRanks ranks(rank, meeting);
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
