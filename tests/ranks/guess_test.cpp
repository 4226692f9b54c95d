// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ok-Topk guesses the threshold of a call from those of the last ones. Whatever becomes of a guess,
// the result is the definition's; where thresholds hardly move, fewer messages are sent.

#include <cmath>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kLength = 3000;
constexpr std::size_t kKept = 150;

/// How the values of a call are scaled.
struct Course {
  const char* name;
  float (*scale)(int call);
};

constexpr Course kCourses[] = {
    {"still", [](int) { return 1.0f; }},
    {"falls a little", [](int call) { return std::pow(0.9997f, static_cast<float>(call)); }},
    {"falls", [](int call) { return std::pow(0.97f, static_cast<float>(call)); }},
    {"rises", [](int call) { return std::pow(1.03f, static_cast<float>(call)); }},
    {"jumps up once", [](int call) { return call < 6 ? 1.0f : 1000.0f; }},
    {"jumps down once", [](int call) { return call < 6 ? 1.0f : 1e-6f; }},
    {"jumps", [](int call) { return call % 2 == 0 ? 1.0f : 3.0f; }},
    {"nothing at times", [](int call) { return call % 5 == 4 ? 0.0f : 1.0f; }},
};

/// Calls of one shape; messages that rank 0 sent in each.
template <class T>
std::string follow(const Ranks& ranks, Kind kind, const Course& course,
                   std::vector<std::size_t>& messages) {
  const int P = ranks.size();
  for (int call = 0; call < (small_run() ? 9 : 24); ++call) {
    auto sends = make_data_of_all<T>(kind, kLength, P, base_seed());
    for (auto& send : sends)
      for (T& value : send) value *= static_cast<T>(course.scale(call));
    const auto expected = oracle::Oracle<T>::sparse_allreduce({sends, {}}, kKept, oracle::Op::kSum);
    std::string verdict = ranks.run(course.name, [&](int rank) -> std::string {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<T> recv(kLength);
      const DenseCall<T> each{sends[r].data(), recv.data(), kLength, kKept};
      const sparsecollResult_t got = call_dense_verb(Verb::kSparse, each, ranks.comm(rank));
      if (got != sparsecollSuccess) return explain(got, ranks.comm(rank));
      sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
      sparsecollCommGetStats(ranks.comm(rank), sparsecollStatsLast, &stats);
      if (rank == 0) messages.push_back(stats.messagesSent);
      for (std::size_t i = 0; i < kLength; ++i)
        if (bits(recv[i]) != bits(expected.result[i]))
          return "element " + std::to_string(i) + " is " + std::to_string(double(recv[i])) +
                 " instead of " + std::to_string(double(expected.result[i]));
      return "";
    });
    if (!verdict.empty()) return verdict + " in call " + std::to_string(call);
  }
  return "";
}

TEST_CASE("guessed thresholds give the definition's result") {
  for (const int P : rank_counts()) {
    for (const Kind kind : {Kind::kHeavyTail, Kind::kAllEqual, Kind::kSkewed}) {
      for (const Course& course : kCourses) {
        const Ranks ranks(P, config_of(kOktopk));
        CAPTURE(P, name_of(kind), course.name);
        std::vector<std::size_t> messages;
        CHECK(follow<float>(ranks, kind, course, messages) == "");
        CHECK(follow<double>(ranks, kind, course, messages) == "");
      }
    }
  }
}

TEST_CASE("where thresholds stay, no counters are summed") {
  const Ranks ranks(8, config_of(kOktopk));
  std::vector<std::size_t> messages;
  REQUIRE(follow<float>(ranks, Kind::kHeavyTail, kCourses[0], messages) == "");
  const std::size_t split = 7, gather = 3, counters = 3;
  CHECK(messages[1] >= split + counters + gather);  // one threshold says nothing of its moves
  for (std::size_t call = 2; call < messages.size(); ++call)
    CHECK(messages[call] == split + gather);
}

TEST_CASE("equal values are not guessed: all of them would be sent") {
  const Ranks ranks(8, config_of(kOktopk));
  std::vector<std::size_t> messages;
  REQUIRE(follow<float>(ranks, Kind::kIntegers, kCourses[0], messages) == "");
  for (const std::size_t each : messages) CHECK(each > 7 + 3);
}

}  // namespace
}  // namespace sparsecoll::test
