// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests pushSumStep in CUDA graphs. A replay is a full period of steps.

#include <numeric>

#include "devices/graph.hpp"
#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using devices::Graph;

constexpr size_t kCount = 40;

/// A graph of ranks and how they gossip on it.
struct Gossip {
  int P;
  int delay;
  size_t k;
  int period;  ///< period of the graph, in steps

  sparsecollPushSumConfig_t config() const {
    sparsecollPushSumConfig_t config = test::kExponential.config();
    config.maxDelay = delay;
    config.k = k;
    config.mixing = 0.5;
    return config;
  }
  int steps() const { return std::lcm(period, std::max(delay, 1)); }
};

/// The state of one rank, with its tensors.
template <class T>
class GossipRank {
 public:
  GossipRank(sparsecollComm_t comm, int rank, const Gossip& gossip)
      : comm_(comm),
        state_(comm, kCount, gossip.config()),
        x_(test::make_data<T>(test::Kind::kHeavyTail, kCount, rank, gossip.P, 3)),
        estimate_(kCount) {}

  sparsecollResult_t step() const {
    return pushSumStep(x_.get(), estimate_.get(), kCount, test::kDatatype<T>, state_.handle(),
                       comm_, stream);
  }
  void steps(int number) const {
    for (int each = 0; each < number; ++each) must(step());
  }
  sparsecollResult_t try_drain() const {
    return sparsecollPushSumDrain(state_.handle(), x_.get(), estimate_.get(), stream);
  }
  void drain() const { must(try_drain()); }
  std::string refuses_file(const std::string& path) const {
    return result_mismatch(sparsecollPushSumLoad(state_.handle(), path.c_str()),
                           sparsecollInvalidUsage, comm_, "part of a CUDA graph");
  }
  std::string differs_from(const GossipRank& other) const {
    std::string wrong = test::difference("x", x_.read(stream), other.x_.read(other.stream));
    wrong +=
        test::difference("estimate", estimate_.read(stream), other.estimate_.read(other.stream));
    const double own = state_.weight(), others = other.state_.weight();
    if (test::bits(own) != test::bits(others)) wrong += text("w is ", own, ", not ", others);
    return wrong;
  }

  OwnStream stream;

 private:
  void must(sparsecollResult_t got) const {
    if (got != sparsecollSuccess) throw std::runtime_error(sparsecollGetLastError(comm_));
  }

  sparsecollComm_t comm_;
  test::PushSum<T> state_;
  DeviceArray<T> x_, estimate_;
};

/// Compares replays of captured steps with steps on other communicators.
template <class T>
std::string replay(const Gossip& gossip) {
  const Team team(gossip.P), eager(gossip.P);
  const int steps = gossip.steps();
  return team.run("replay", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const GossipRank<T> replayed(comm, rank, gossip), called(eager.comm(rank), rank, gossip);
    // A capture is refused before each kind of step was made once.
    std::string wrong;
    const auto too_early = [&] {
      const Graph none(replayed.stream, [&] {
        wrong += result_mismatch(replayed.step(), sparsecollInvalidUsage, comm,
                                 "stream: expected one that is not captured until a whole period");
      });
    };
    too_early();
    for (int made = 0; made < steps + gossip.delay; ++made) {
      replayed.steps(1);
      called.steps(1);
      // The next step sends changes to a peer that has not received any.
      if (made == 0 && gossip.period > 1 && gossip.k > 0) too_early();
    }
    wrong += replayed.differs_from(called);
    {
      const Graph graph(replayed.stream, [&] { replayed.steps(steps); });
      const auto launch = [&] {
        graph.launch(replayed.stream);
        called.steps(steps);
      };
      for (int round = 0; round < 8; ++round) launch();
      wrong += replayed.differs_from(called);
      // A full period of steps between replays.
      for (int round = 0; round < 2; ++round) {
        replayed.steps(steps);
        called.steps(steps);
        launch();
        wrong += replayed.differs_from(called);
      }
      // Gossip that was drained is not added again, by graphs or by steps.
      const bool drains = gossip.delay == 0 || gossip.k == 0;
      for (int round = 0; round < 2 && drains; ++round) {
        replayed.drain();
        called.drain();
        wrong += replayed.differs_from(called);
        launch();
        wrong += replayed.differs_from(called);
      }
      if (!drains)
        wrong +=
            result_mismatch(replayed.try_drain(), sparsecollInvalidUsage, comm, "captured steps");
    }
    replayed.steps(1);
    called.steps(1);
    return wrong + replayed.differs_from(called);
  });
}

TEST_CASE("replays of pushSumStep are the same as steps, bit for bit, dense and compressed") {
  for (const int delay : {0, 1, 2})
    for (const size_t k : {size_t{0}, size_t{4}}) {
      CAPTURE(delay, k);
      CHECK(replay<float>({2, delay, k, 1}) == "");
      CHECK(replay<float>({3, delay, k, 2}) == "");
      CHECK(replay<oracle::Bfloat16>({3, delay, k, 2}) == "");
    }
  CHECK(replay<float>({1, 0, 0, 1}) == "");
  CHECK(replay<double>({5, 2, 4, 3}) == "");
}

TEST_CASE("after a drain, steps cannot be captured before new messages are in flight") {
  const Gossip gossip{2, 2, 0, 1};
  const Team team(gossip.P);
  CHECK(team.run("drained", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const GossipRank<float> own(comm, rank, gossip);
    own.steps(4);
    own.drain();
    std::string wrong;
    const auto capture = [&](sparsecollResult_t want) {
      const Graph graph(own.stream, [&] { wrong += result_mismatch(own.step(), want, comm); });
    };
    capture(sparsecollInvalidUsage);
    own.steps(1);
    capture(sparsecollInvalidUsage);
    own.steps(1);
    const Graph graph(own.stream, [&] { own.steps(2); });
    for (int launch = 0; launch < 3; ++launch) graph.launch(own.stream);
    own.stream.wait();
    own.drain();
    return wrong + own.refuses_file("any");
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
