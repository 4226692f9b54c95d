// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests misuse of push-sum, and the errors that follow.

#include "support/push_sum.hpp"

#include <cstdint>

#include "misuse/push_sum.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("arguments that do not fit are refused here, and the repeated call is the peers' call") {
  const Ranks ranks(2, default_config()), others(1, default_config());
  PushSum<double> foreign(others.comm(0), kLength, kUsual);
  CHECK(ranks.run("arguments", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const PushSum<double> state(comm, kLength, kUsual);
    sparsecollPushSum_t destroyed = nullptr;
    sparsecollPushSumCreate(&destroyed, kLength, sparsecollFloat64, nullptr, comm);
    if (sparsecollPushSumDestroy(destroyed) != sparsecollSuccess) return "destroy";
    if (sparsecollPushSumDestroy(destroyed) != sparsecollInvalidArgument) return "destroyed twice";
    if (rank == 0) {
      std::vector<double> x(kLength + 1, 1.0), e(kLength + 1);
      const sparsecollPushSum_t good = state.handle();
      const auto stream = reinterpret_cast<sparsecollStream_t>(x.data());
      char* const odd = reinterpret_cast<char*>(x.data()) + 1;
      struct {
        const char* words;
        void* x;
        void* estimate;
        std::size_t count;
        sparsecollDataType_t type;
        sparsecollPushSum_t state;
        sparsecollStream_t stream;
      } const bad[] = {
          {"state: expected a push-sum state", x.data(), nullptr, kLength, sparsecollFloat64,
           nullptr, nullptr},
          {"state: expected a push-sum state", x.data(), nullptr, kLength, sparsecollFloat64,
           destroyed, nullptr},
          {"another's", x.data(), nullptr, kLength, sparsecollFloat64, foreign.handle(), nullptr},
          {"count: expected the state's, 50, got 49", x.data(), nullptr, kLength - 1,
           sparsecollFloat64, good, nullptr},
          {"datatype: expected the state's, 8, got 7", x.data(), nullptr, kLength,
           sparsecollFloat32, good, nullptr},
          {"x: expected 50 values, got NULL", nullptr, nullptr, kLength, sparsecollFloat64, good,
           nullptr},
          {"x: expected an address aligned", odd, nullptr, kLength, sparsecollFloat64, good,
           nullptr},
          {"x and estimate", x.data(), x.data(), kLength, sparsecollFloat64, good, nullptr},
          {"x and estimate", x.data(), x.data() + 1, kLength, sparsecollFloat64, good, nullptr},
          {"stream: expected NULL", x.data(), e.data(), kLength, sparsecollFloat64, good, stream},
      };
      const std::vector<double> before = x;
      const std::uint64_t sequence = sequence_of(comm);
      for (const auto& b : bad) {
        const std::string wrong =
            refused(b.words, pushSumStep(b.x, b.estimate, b.count, b.type, b.state, comm, b.stream),
                    sparsecollInvalidArgument, b.words, comm);
        if (!wrong.empty()) return wrong;
      }
      if (x != before || sequence_of(comm) != sequence) return "something happened";
      if (sparsecollPushSumWeight(good, nullptr) != sparsecollInvalidArgument) return "weight";
      if (state.weight() != 1) return "the weight is another one";
      double weight = 0;
      if (sparsecollPushSumWeight(destroyed, &weight) != sparsecollInvalidArgument) return "weight";
    }
    return works(state, comm);
  }) == "");
}

int no_graph(void*, int, int, std::uint64_t, int*, double*, int) { return 0; }

/// A configuration with one wrong field, and the part of the message that names it.
struct Flaw {
  const char* words;
  void (*spoil)(sparsecollPushSumConfig_t&);
};

const Flaw kFlaws[] = {{"SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER", [](auto& c) { c.magic = 1; }},
                       {"SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER", [](auto& c) { c.size = 3; }},
                       {"config.graph", [](auto& c) { c.graph = 5; }},
                       {"config.graph", [](auto& c) { c.graph = -1; }},
                       {"config.peers", [](auto& c) { c.peers = 0; }},
                       {"config.peers: expected 1 with", [](auto& c) { c.peers = 2; }},
                       {"config.maxDelay", [](auto& c) { c.maxDelay = -2; }},
                       {"config.mixing", [](auto& c) { c.k = 1, c.mixing = 0; }},
                       {"config.mixing", [](auto& c) { c.k = 1, c.mixing = 1.5; }},
                       {"config.mixing", [](auto& c) { c.k = 1, c.mixing = std::nan(""); }},
                       {"config.outNeighbours", [](auto& c) { c.graph = sparsecollGraphCustom; }},
                       {"config.outNeighbours", [](auto& c) { c.outNeighbours = no_graph; }}};

TEST_CASE("a bad configuration on one rank is told to all, and the communicator goes on") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("configuration", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const bool guilty = rank == 1;
    const auto want = guilty ? sparsecollInvalidArgument : sparsecollInvalidUsage;
    for (const Flaw& flaw : kFlaws) {
      sparsecollPushSumConfig_t config = kUsual;
      if (guilty) flaw.spoil(config);
      sparsecollPushSum_t state = nullptr;
      const auto result =
          sparsecollPushSumCreate(&state, kLength, sparsecollFloat64, &config, comm);
      std::string wrong = refused("create", result, want, flaw.words, comm);
      if (wrong.empty() && !guilty) wrong = refused("create", result, want, "rank 1", comm);
      if (state != nullptr) wrong += "; a state was made";
      if (!wrong.empty()) return wrong;
    }
    sparsecollPushSum_t state = nullptr;
    std::string wrong = refused(
        "no place",
        sparsecollPushSumCreate(guilty ? nullptr : &state, 1, sparsecollFloat32, nullptr, comm),
        want, "state: expected a pointer", comm);
    if (wrong.empty())
      wrong =
          refused("type",
                  sparsecollPushSumCreate(
                      &state, 1, guilty ? static_cast<sparsecollDataType_t>(99) : sparsecollFloat32,
                      nullptr, comm),
                  want, "datatype", comm);
    if (wrong.empty())
      wrong = refused("size",
                      sparsecollPushSumCreate(&state, guilty ? ~std::size_t{0} : 1,
                                              sparsecollFloat32, nullptr, comm),
                      want, "count", comm);
    if (!wrong.empty()) return wrong;
    return works(PushSum<double>(comm, kLength, kUsual), comm);
  }) == "");
}

const Flaw kDifferences[] = {
    {"config.graph: this rank passed", [](auto& c) { c.graph = sparsecollGraphRing; }},
    {"config.peers: this rank passed",
     [](auto& c) { c.graph = sparsecollGraphNPeerExponential, c.peers = 3; }},
    {"config.maxDelay: this rank passed", [](auto& c) { c.maxDelay = -1; }},
    {"config.k: this rank passed", [](auto& c) { c.k = 3; }},
    {"config.mixing: this rank passed", [](auto& c) { c.k = 2, c.mixing = 0.25; }}};

TEST_CASE("ranks that disagree when they make a state learn on what") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("disagreement", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    sparsecollPushSum_t state = nullptr;
    for (const Flaw& difference : kDifferences) {
      sparsecollPushSumConfig_t config = kUsual;
      const std::string words = difference.words;
      if (words.find("peers") != std::string::npos) config.graph = sparsecollGraphNPeerExponential;
      if (words.find("mixing") != std::string::npos) config.k = 2, config.mixing = 0.5;
      if (rank == 2) difference.spoil(config);
      const std::string wrong =
          refused(words, sparsecollPushSumCreate(&state, kLength, sparsecollFloat64, &config, comm),
                  sparsecollInvalidUsage, words, comm);
      if (!wrong.empty()) return wrong;
    }
    const std::size_t count = rank == 0 ? 3 : 4;
    std::string wrong =
        refused("count", sparsecollPushSumCreate(&state, count, sparsecollFloat64, nullptr, comm),
                sparsecollInvalidUsage, "count: this rank passed", comm);
    if (!wrong.empty()) return wrong;
    return works(PushSum<double>(comm, kLength, kUsual), comm);
  }) == "");
}

TEST_CASE("a drain finds out that ranks made different numbers of steps, and changes nothing") {
  const Ranks ranks(3, default_config());
  sparsecollPushSumConfig_t config = kUsual;
  config.maxDelay = -1;
  CHECK(ranks.run("drain", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const PushSum<double> state(comm, kLength, config), other(comm, kLength, config);
    std::vector<double> x(kLength, rank);
    // Rank 0 counts one call more for this state, and one call less for the other.
    if (state.step(x) != sparsecollSuccess) return "step";
    if ((rank == 0 ? state : other).step(x) != sparsecollSuccess) return "step";
    const std::vector<double> before = x;
    std::string wrong = refused("drain", state.drain(x), sparsecollInvalidUsage,
                                "the number of steps: this rank passed", comm);
    if (!wrong.empty()) return wrong;
    if (x != before) return "x was changed";
    wrong = refused("drain", (rank == 0 ? state : other).drain(x), sparsecollInvalidUsage,
                    "state: this rank passed", comm);
    if (!wrong.empty()) return wrong;
    // Once they are even, everything is still there.
    if ((rank == 0 ? other : state).step(x) != sparsecollSuccess) return "step";
    wrong = expect("drain", state.drain(x), sparsecollSuccess, comm);
    return wrong.empty() ? expect("drain", other.drain(x), sparsecollSuccess, comm) : wrong;
  }) == "");
}

TEST_CASE("bad arguments of a drain are told to all") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("drain", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const PushSum<double> state(comm, kLength, kUsual);
    std::vector<double> x(kLength, 1.0);
    void* const mine = rank == 1 ? nullptr : x.data();
    const std::string wrong =
        refused("drain", sparsecollPushSumDrain(state.handle(), mine, nullptr, nullptr),
                rank == 1 ? sparsecollInvalidArgument : sparsecollInvalidUsage,
                "x: expected 50 values", comm);
    if (!wrong.empty()) return wrong;
    if (sparsecollPushSumDrain(nullptr, mine, nullptr, nullptr) != sparsecollInvalidArgument)
      return "a drain of nothing";
    return works(state, comm);
  }) == "");
}

TEST_CASE("push-sum is no part of a group") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("group", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const PushSum<double> state(comm, kLength, kUsual);
    std::vector<double> x(kLength, 1.0);
    sparsecollPushSum_t another = nullptr;
    sparsecollGroupStart(comm);
    std::string wrong =
        refused("step", state.step(x), sparsecollInvalidUsage, "sparsecollGroupEnd", comm);
    if (wrong.empty())
      wrong = refused("drain", state.drain(x), sparsecollInvalidUsage, "GroupEnd", comm);
    if (wrong.empty())
      wrong =
          refused("create", sparsecollPushSumCreate(&another, 1, sparsecollFloat32, nullptr, comm),
                  sparsecollInvalidUsage, "GroupEnd", comm);
    if (sparsecollGroupEnd(comm) != sparsecollSuccess) return "group";
    return wrong.empty() ? works(state, comm) : wrong;
  }) == "");
}

/// An invalid answer of a custom graph.
struct Answer {
  const char* words;
  int count;
  int neighbour;
  double weight;
};

int answer(void* user, int rank, int, std::uint64_t, int* neighbours, double* weights, int) {
  const Answer* wrong = *static_cast<const Answer* const*>(user);
  if (wrong == nullptr) {
    neighbours[0] = (rank + 1) % 3;
    weights[0] = 0.5;
    return 1;
  }
  for (int i = 0; i < std::min(wrong->count, 2); ++i) {
    neighbours[i] = wrong->neighbour;
    weights[i] = wrong->weight;
  }
  return wrong->count;
}

TEST_CASE("a custom graph that is none is refused before anything happens") {
  const Answer wrong_answers[] = {
      {"expected 0 to 2 neighbours, got 3", 3, 1, 0.1},
      {"expected 0 to 2 neighbours, got -1", -1, 1, 0.1},
      {"expected other ranks below 3, got 3", 1, 3, 0.1},
      {"expected other ranks below 3, got -1", 1, -1, 0.1},
      {"expected other ranks below 3, got 0", 1, 0, 0.1},
      {"got 1 twice", 2, 1, 0.1},
      {"expected weights above 0, got 0", 1, 1, 0.0},
      {"expected weights above 0, got -0.5", 1, 1, -0.5},
      {"expected weights above 0, got nan", 1, 1, std::nan("")},
      {"expected weights whose sum is at most 1, got 1.5", 1, 1, 1.5},
  };
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("custom", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const Answer* now = nullptr;
    sparsecollPushSumConfig_t config = kUsual;
    config.graph = sparsecollGraphCustom;
    config.outNeighbours = answer;
    config.user = &now;
    const PushSum<double> state(comm, kLength, config);
    std::vector<double> x(kLength, 1.0);
    const std::uint64_t sequence = sequence_of(comm);
    for (const Answer& each : wrong_answers) {
      now = &each;
      // The graph gives the same answer for every rank; it is least valid for rank 0.
      if (rank != 0) break;
      const std::string wrong =
          refused(each.words, state.step(x), sparsecollInvalidArgument, each.words, comm);
      if (!wrong.empty()) return wrong;
    }
    now = nullptr;
    if (sequence_of(comm) != sequence || state.weight() != 1) return "something happened";
    return works(state, comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
