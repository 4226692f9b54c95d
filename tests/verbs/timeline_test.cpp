// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of SPARSECOLL_TIMELINE: what is recorded of calls, that results do not change, and where
// the file is written.

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/push_sum.hpp"
#include "support/sweep.hpp"
#include "support/timeline_file.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kCount = 3000, kK = 40;

sparsecollStats_t last_stats(sparsecollComm_t comm) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  if (sparsecollCommGetStats(comm, sparsecollStatsLast, &stats) != sparsecollSuccess)
    throw std::runtime_error("no statistics");
  return stats;
}

/// The results of all ranks of a run.
struct Outcome {
  std::vector<std::vector<float>> results;  ///< of all calls, by rank
  std::vector<std::vector<sparsecollStats_t>> stats;
};

constexpr int kCalls = 3;

/// A few calls of a verb with feedback.
Outcome run_calls(int P, const Mode& mode) {
  Outcome outcome{std::vector<std::vector<float>>(P),
                  std::vector<std::vector<sparsecollStats_t>>(P)};
  const Ranks ranks(P, config_of(mode));
  const std::string verdict = ranks.run("timeline", [&](int rank) {
    const Residual<float> residual(ranks.comm(rank), kCount, mode.verb == Verb::kSparse);
    for (int call = 0; call < kCalls; ++call) {
      const auto x = make_data<float>(Kind::kHeavyTail, kCount, rank, P, 1 + call);
      std::vector<float> y(kCount);
      const DenseCall<float> c{x.data(), y.data(), kCount, kK, sparsecollSum, residual.handle()};
      const auto got = call_dense_verb(mode.verb, c, ranks.comm(rank));
      if (got != sparsecollSuccess) return explain(got, ranks.comm(rank));
      auto& all = outcome.results[rank];
      all.insert(all.end(), y.begin(), y.end());
      outcome.stats[rank].push_back(last_stats(ranks.comm(rank)));
    }
    return std::string();
  });
  CHECK(verdict == "");
  return outcome;
}

bool is_phase(const RecordedSpan& span) {
  const auto phases = {"select", "pack", "exchange", "reduce"};
  return std::find(phases.begin(), phases.end(), span.name) != phases.end();
}

/// Returns the seconds of all spans of this phase, without the spans inside of them. Spans are
/// nested once at most.
double seconds_of(const TimelineFile& file, const char* phase, std::uint64_t call) {
  double sum = 0;
  const auto spans = file.in("host", call);
  for (const RecordedSpan& span : spans) {
    if (span.name != phase) continue;
    sum += (span.end - span.begin) * 1e-6;
    for (const RecordedSpan& other : spans)
      if (&other != &span && is_phase(other) && other.within(span, 0))
        sum -= (other.end - other.begin) * 1e-6;
  }
  return sum;
}

void check_call(const TimelineFile& file, std::uint64_t number, const sparsecollStats_t& stats) {
  const RecordedSpan whole = file.call(number);
  CHECK(whole.facts.at("count") == kCount);
  CHECK(whole.facts.at("k") == kK);
  // One clock measures the spans and the statistics.
  CHECK(seconds_of(file, "select", number) == Approx(stats.selectSeconds).margin(1e-7));
  CHECK(seconds_of(file, "pack", number) == Approx(stats.packSeconds).margin(1e-7));
  CHECK(seconds_of(file, "exchange", number) == Approx(stats.exchangeSeconds).margin(1e-7));
  CHECK(seconds_of(file, "reduce", number) == Approx(stats.reduceSeconds).margin(1e-7));
  CHECK(file.bytes("send", number) == stats.bytesSent);
  CHECK(file.bytes("receive", number) == stats.bytesReceived);
  CHECK(file.in("send", number).size() == stats.messagesSent);
  for (const RecordedSpan& span : file.in("host", number)) CHECK(span.within(whole));
  for (const RecordedSpan& span : file.in("send", number)) CHECK(span.within(whole));
}

/// The files in a folder, by rank where each rank has one.
std::map<int, TimelineFile> files_in(const Folder& folder) {
  std::map<int, TimelineFile> files;
  for (const auto& each : std::filesystem::directory_iterator(folder.file(""))) {
    TimelineFile file(each.path().string());
    files.emplace(file.about().at("rank").get<int>(), std::move(file));
  }
  return files;
}

TEST_CASE("every call has its spans, which agree with its statistics") {
  for (const Mode& mode : {kAllgather, kOktopk, kDense, kGtopk})
    for (const int P : {1, 4}) {
      CAPTURE(mode.name, P);
      const Outcome plain = run_calls(P, mode);
      const Folder folder;
      const Variable variable("SPARSECOLL_TIMELINE", folder.file("%r"));
      const Outcome recorded = run_calls(P, mode);
      CHECK(recorded.results == plain.results);
      const auto files = files_in(folder);
      REQUIRE(files.size() == static_cast<std::size_t>(P));
      for (const auto& [rank, file] : files) {
        CHECK(file.about().at("ranks") == P);
        CHECK(file.about().at("lost") == 0);
        for (std::uint64_t call = 1; call <= kCalls; ++call) {
          CHECK(file.call(call).name ==
                (mode.verb == Verb::kGtopk ? "gtopkAllreduce" : "sparseAllreduce"));
          check_call(file, call, recorded.stats[static_cast<std::size_t>(rank)][call - 1]);
        }
      }
      if (mode.verb == Verb::kSparse) {
        const auto algorithm = files.at(0).call(1).facts.at("algorithm").get<std::string>();
        CHECK(std::string(mode.name) == "sparseAllreduce/" + algorithm);
      }
    }
}

TEST_CASE("long messages are recorded chunk by chunk") {
  const Folder folder;
  constexpr int P = 2;
  constexpr std::size_t kLong = std::size_t{1} << 20;
  std::vector<sparsecollStats_t> stats(P);
  {
    const Variable variable("SPARSECOLL_TIMELINE", folder.file("%r"));
    const Ranks ranks(P, config_of(kDense));
    CHECK(ranks.run("chunks", [&](int rank) {
      std::vector<float> x(kLong, 1.0f);
      const DenseCall<float> c{x.data(), x.data(), kLong, kLong};
      const auto got = call_dense_verb(Verb::kSparse, c, ranks.comm(rank));
      stats[rank] = last_stats(ranks.comm(rank));
      return expect("sparseAllreduce", got, sparsecollSuccess, ranks.comm(rank));
    }) == "");
  }
  for (const auto& [rank, file] : files_in(folder)) {
    const auto sent = file.in("send", 1);
    CHECK(file.bytes("send", 1) == stats[static_cast<std::size_t>(rank)].bytesSent);
    CHECK(sent.size() > stats[static_cast<std::size_t>(rank)].messagesSent);
    for (const RecordedSpan& span : sent) CHECK(span.facts.at("peer") == 1 - rank);
  }
}

TEST_CASE("queued calls, groups and steps of push-sum are recorded as well") {
  const Folder folder;
  constexpr int P = 3;
  std::vector<sparsecollStats_t> group(P), step(P);
  {
    const Variable variable("SPARSECOLL_TIMELINE", folder.file("%r"));
    sparsecollConfig_t config = default_config();
    config.blocking = 0;
    const Ranks ranks(P, config);
    CHECK(ranks.run("others", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<float> x(kCount, 1.0f), y(kCount, 2.0f);
      const auto call = [&](std::vector<float>& v) {
        return sparseAllreduce(v.data(), v.data(), kCount, kK, sparsecollFloat32, sparsecollSum,
                               nullptr, comm, nullptr);
      };
      sparsecollGroupStart(comm);
      call(x);
      call(y);
      sparsecollGroupEnd(comm);
      std::string wrong = expect("group", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      group[rank] = last_stats(comm);
      const PushSum<float> state(comm, kCount, SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER);
      pushSumStep(x.data(), nullptr, kCount, sparsecollFloat32, state.handle(), comm, nullptr);
      wrong += expect("step", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      step[rank] = last_stats(comm);
      return wrong;
    }) == "");
  }
  const auto files = files_in(folder);
  REQUIRE(files.size() == P);
  for (const auto& [rank, file] : files) {
    CHECK(file.call(1).facts.at("calls") == 2);
    CHECK(file.bytes("send", 1) == group[static_cast<std::size_t>(rank)].bytesSent);
    CHECK(file.bytes("receive", 1) == group[static_cast<std::size_t>(rank)].bytesReceived);
    CHECK(file.call(3).name == "pushSumStep");
    CHECK(file.bytes("send", 3) == step[static_cast<std::size_t>(rank)].bytesSent);
    CHECK(file.bytes("receive", 3) == step[static_cast<std::size_t>(rank)].bytesReceived);
  }
}

TEST_CASE("every communicator of a process has files of its own") {
  const Folder folder;
  const Variable variable("SPARSECOLL_TIMELINE", folder.file("t.json"));
  for (int round = 0; round < 2; ++round) {
    const Ranks ranks(2, default_config());
    std::vector<sparsecollComm_t> parts(2);
    CHECK(ranks.run("split", [&](int rank) {
      // Both ranks are rank 0 of their child.
      return expect("split", sparsecollCommSplit(ranks.comm(rank), rank, 0, &parts[rank], nullptr),
                    sparsecollSuccess, ranks.comm(rank));
    }) == "");
    for (const sparsecollComm_t part : parts)
      CHECK(sparsecollCommDestroy(part) == sparsecollSuccess);
  }
  CHECK(folder.files() == 8);
}

TEST_CASE("a file that cannot be written is a warning") {
  const Folder folder;
  const Variable level("SPARSECOLL_DEBUG", "WARN");
  const Variable log("SPARSECOLL_DEBUG_FILE", folder.file("log"));
  const Variable variable("SPARSECOLL_TIMELINE", folder.file("none/%r"));
  const Outcome outcome = run_calls(2, kOktopk);
  CHECK(outcome.stats[1].size() == kCalls);
  CHECK(lines_with(folder.file("log"), "WARN SPARSECOLL_TIMELINE: cannot open") == 2);
}

}  // namespace
}  // namespace sparsecoll::test
