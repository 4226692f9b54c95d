// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ok-Topk predicts the threshold of a call from those of the last ones. Right or wrong, the result
// is the definition's; if thresholds hardly change, fewer messages are sent.

#include <cmath>

#include "oracle/wire.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kLength = 3000;
constexpr std::size_t kKept = 150;

/// How the values of each call are scaled.
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

constexpr Mode kOktopkBf16 = over_bf16(kOktopk, "sparseAllreduce/oktopk, bf16");
constexpr Mode kOktopkInt8 = over_int8(kOktopk, "sparseAllreduce/oktopk, int8");

/// Returns config_of() with regions that stay, so that later calls need no messages for them. No
/// result depends on regions.
sparsecollConfig_t warm_config(const Mode& mode) {
  sparsecollConfig_t config = config_of(mode);
  config.repartitionInterval = 64;
  return config;
}

template <class T>
std::vector<T> sum_of_largest(const Mode& mode, const oracle::PerRank<std::vector<T>>& sends) {
  if (mode.wire != sparsecollWireNative)
    return oracle::WireOracle<T>::sparse_allreduce({sends, {}}, kKept, oracle::Op::kSum,
                                                   oracle::Sums::kTravel, oracle_wire(mode.wire))
        .result;
  return oracle::Oracle<T>::sparse_allreduce({sends, {}}, kKept, oracle::Op::kSum).result;
}

/// The parameters of one run.
struct Setting {
  Mode mode;
  Kind kind;
  Course course;
};

/// Makes calls of one shape. Returns the number of messages that rank 0 sent in each.
template <class T>
std::string follow(const Ranks& ranks, const Setting& setting, std::vector<std::size_t>& messages) {
  const Course& course = setting.course;
  const int P = ranks.size();
  for (int call = 0; call < (small_run() ? 9 : 24); ++call) {
    auto sends = make_data_of_all<T>(setting.kind, kLength, P, base_seed());
    for (auto& send : sends)
      for (T& value : send) value *= static_cast<T>(course.scale(call));
    const std::vector<T> expected = sum_of_largest<T>(setting.mode, sends);
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
        if (bits(recv[i]) != bits(expected[i]))
          return "element " + std::to_string(i) + " is " + std::to_string(double(recv[i])) +
                 " instead of " + std::to_string(double(expected[i]));
      return "";
    });
    if (!verdict.empty()) return verdict + " in call " + std::to_string(call);
  }
  return "";
}

TEST_CASE("predicted thresholds give the definition's result") {
  for (const Mode& mode : {kOktopk, kOktopkBf16, kOktopkInt8}) {
    for (const int P : rank_counts()) {
      for (const Kind kind : {Kind::kHeavyTail, Kind::kAllEqual, Kind::kSkewed}) {
        for (const Course& course : kCourses) {
          const Ranks ranks(P, warm_config(mode));
          CAPTURE(mode.name, P, name_of(kind), course.name);
          std::vector<std::size_t> messages;
          CHECK(follow<float>(ranks, {mode, kind, course}, messages) == "");
          CHECK(follow<double>(ranks, {mode, kind, course}, messages) == "");
        }
      }
    }
  }
}

constexpr std::size_t kSplit = 7, kCounters = 3, kGather = 3;  // messages of one of 8 ranks

TEST_CASE("where thresholds stay, no counters are summed") {
  for (const Mode& mode : {kOktopk, kOktopkBf16, kOktopkInt8}) {
    const Ranks ranks(8, warm_config(mode));
    std::vector<std::size_t> messages;
    REQUIRE(follow<float>(ranks, {mode, Kind::kHeavyTail, kCourses[0]}, messages) == "");
    CAPTURE(mode.name);
    CHECK(messages[1] >=
          kSplit + kCounters + kGather);  // one threshold does not show how thresholds change
    for (std::size_t call = 2; call < messages.size(); ++call)
      CHECK(messages[call] == kSplit + kGather);
  }
}

TEST_CASE("the threshold of equal values is not predicted: all of them would be sent") {
  for (const Mode& mode : {kOktopk, kOktopkBf16, kOktopkInt8}) {
    const Ranks ranks(8, warm_config(mode));
    std::vector<std::size_t> messages;
    REQUIRE(follow<float>(ranks, {mode, Kind::kIntegers, kCourses[0]}, messages) == "");
    CAPTURE(mode.name);
    for (const std::size_t each : messages) CHECK(each > kSplit + kGather);
  }
}

}  // namespace
}  // namespace sparsecoll::test
