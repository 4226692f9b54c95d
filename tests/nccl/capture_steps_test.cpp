// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// pushSumStep in CUDA graphs: a replay is a whole period of steps.

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

struct Gossip {
  int P;
  int delay;
  size_t k;
  int period;  ///< of the graph

  sparsecollPushSumConfig_t config() const {
    sparsecollPushSumConfig_t config = test::kExponential.config();
    config.maxDelay = delay;
    config.k = k;
    config.mixing = 0.5;
    return config;
  }
  int steps() const { return std::lcm(period, std::max(delay, 1)); }
};

/// One rank's state, and its tensors.
template <class T>
class Member {
 public:
  Member(sparsecollComm_t comm, int rank, const Gossip& gossip)
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
    return told(sparsecollPushSumLoad(state_.handle(), path.c_str()), sparsecollInvalidUsage, comm_,
                "part of a CUDA graph");
  }
  std::string differs_from(const Member& other) const {
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

template <class T>
std::string replay(const Gossip& gossip) {
  const Team team(gossip.P), eager(gossip.P);
  const int steps = gossip.steps();
  return team.run("replay", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Member<T> replayed(comm, rank, gossip), called(eager.comm(rank), rank, gossip);
    // Not before each kind of step was made once.
    std::string wrong;
    const auto too_early = [&] {
      const Graph none(replayed.stream, [&] {
        wrong += told(replayed.step(), sparsecollInvalidUsage, comm,
                      "stream: expected one that is not captured until a whole period");
      });
    };
    too_early();
    for (int made = 0; made < steps + gossip.delay; ++made) {
      replayed.steps(1);
      called.steps(1);
      // Changes for a peer that there were none for yet.
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
      // Steps between replays, a whole period of them.
      for (int round = 0; round < 2; ++round) {
        replayed.steps(steps);
        called.steps(steps);
        launch();
        wrong += replayed.differs_from(called);
      }
      // What was drained is not absorbed again, by graphs or steps.
      const bool drains = gossip.delay == 0 || gossip.k == 0;
      for (int round = 0; round < 2 && drains; ++round) {
        replayed.drain();
        called.drain();
        wrong += replayed.differs_from(called);
        launch();
        wrong += replayed.differs_from(called);
      }
      if (!drains)
        wrong += told(replayed.try_drain(), sparsecollInvalidUsage, comm, "captured steps");
    }
    replayed.steps(1);
    called.steps(1);
    return wrong + replayed.differs_from(called);
  });
}

TEST_CASE("replays of pushSumStep are steps, bit for bit, whole and compressed") {
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

TEST_CASE("gossip that is drained in between cannot be captured before its messages came anew") {
  const Gossip gossip{2, 2, 0, 1};
  const Team team(gossip.P);
  CHECK(team.run("drained", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Member<float> member(comm, rank, gossip);
    member.steps(4);
    member.drain();
    std::string wrong;
    const auto capture = [&](sparsecollResult_t want) {
      const Graph graph(member.stream, [&] { wrong += told(member.step(), want, comm); });
    };
    capture(sparsecollInvalidUsage);
    member.steps(1);
    capture(sparsecollInvalidUsage);
    member.steps(1);
    const Graph graph(member.stream, [&] { member.steps(2); });
    for (int launch = 0; launch < 3; ++launch) graph.launch(member.stream);
    member.stream.wait();
    member.drain();
    return wrong + member.refuses_file("no matter");
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
