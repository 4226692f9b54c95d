// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests what Auto measures and chooses, as its log says. The tests are in one program with the
// other tests of environment variables, because these belong to the process.

#include <string>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/folder.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

/// Collects the log while it exists.
class Lines {
 public:
  /// Returns how many lines contain these words so far.
  int with(const std::string& words) const { return lines_with(folder_.file("log"), words); }
  /// Returns what follows these words where they first occur, up to the end of the line.
  std::string after(const std::string& words) const {
    const std::string all = content(folder_.file("log"));
    const std::size_t at = all.find(words);
    if (at == std::string::npos) return "nothing";
    return all.substr(at + words.size(), all.find('\n', at) - at - words.size());
  }

 private:
  const Folder folder_;
  const Variable debug_{"SPARSECOLL_DEBUG", "INFO"};
  const Variable file_{"SPARSECOLL_DEBUG_FILE", folder_.file("log")};
};

constexpr const char* kMeasured = "network: alpha ";
constexpr const char* kChosen = "auto: ";

std::string call(const Ranks& ranks, std::size_t n, std::size_t k) {
  return run_case(ranks, Case{1, kAuto, n, k, Kind::kHeavyTail});
}

TEST_CASE("the network is measured once, and each choice told once for each shape") {
  const Lines lines;
  const Ranks ranks(3, default_config());
  for (int round = 0; round < 2; ++round) {
    CHECK(call(ranks, 400, 10) == "");
    CHECK(call(ranks, 500, 20) == "");
  }
  CHECK(lines.with(kMeasured) == 3);
  CHECK(lines.with(kChosen) == 6);
  CHECK(lines.with(" for count 500, k 20: allgather would take ") == 3);
}

TEST_CASE("Auto tries the algorithms of a shape and takes the one that took the least time") {
  const Lines lines;
  const Ranks ranks(3, default_config());
  for (int round = 0; round < 11; ++round) CHECK(call(ranks, 40000, 400) == "");
  // The prediction is told, and after ten trials the times; the trials are not.
  CHECK(lines.with(" for count 40000, k 400: ") == 6);
  CHECK(lines.with(" took ") == 3);
}

TEST_CASE("an algorithm that is asked for by name measures nothing") {
  const Lines lines;
  sparsecollConfig_t config = default_config();
  config.algorithm = sparsecollAlgoOktopk;
  const Ranks ranks(3, config);
  CHECK(call(ranks, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 0);
  CHECK(lines.with(kChosen) == 0);
}

TEST_CASE("a call that the ranks abandon leaves nothing measured") {
  const Lines lines;
  const Ranks ranks(3, default_config());
  const std::vector<float> send(100, 1.0f);
  CHECK(ranks.run("other k", [&](int rank) -> std::string {
    std::vector<float> recv(send.size());
    const std::size_t k = rank == 1 ? 5 : 6;
    const sparsecollResult_t result =
        call_dense_verb(Verb::kSparse, DenseCall<float>{send.data(), recv.data(), send.size(), k},
                        ranks.comm(rank));
    return result == sparsecollInvalidUsage ? "" : "not refused";
  }) == "");
  CHECK(lines.with(kMeasured) == 0);
  CHECK(call(ranks, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 3);
}

TEST_CASE("a group measures nothing, and the parts of a communicator measure anew") {
  const Lines lines;
  const Ranks ranks(4, default_config());
  const std::vector<float> send(100, 1.0f);
  CHECK(ranks.run("a group", [&](int rank) -> std::string {
    std::vector<float> recv(send.size()), other(send.size());
    sparsecollGroupStart(ranks.comm(rank));
    for (float* to : {recv.data(), other.data()})
      sparseAllreduce(send.data(), to, send.size(), 5, sparsecollFloat32, sparsecollSum, nullptr,
                      ranks.comm(rank), nullptr);
    return sparsecollGroupEnd(ranks.comm(rank)) == sparsecollSuccess ? "" : "failed";
  }) == "");
  CHECK(lines.with(kMeasured) == 0);
  CHECK(lines.with(kChosen) > 0);
  CHECK(call(ranks, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 4);
  std::vector<sparsecollComm_t> halves(4);
  CHECK(ranks.run("split", [&](int rank) -> std::string {
    const auto result = sparsecollCommSplit(ranks.comm(rank), rank % 2, 0,
                                            &halves[static_cast<size_t>(rank)], nullptr);
    return result == sparsecollSuccess ? "" : "failed";
  }) == "");
  const Ranks even({halves[0], halves[2]}), odd({halves[1], halves[3]});
  CHECK(call(even, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 6);
  CHECK(call(odd, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 8);
}

/// Makes a group of two calls on one rank.
std::string group(sparsecollComm_t comm) {
  const std::vector<float> send(100, 1.0f);
  std::vector<float> recv(send.size()), other(send.size());
  sparsecollGroupStart(comm);
  for (float* to : {recv.data(), other.data()})
    sparseAllreduce(send.data(), to, send.size(), 5, sparsecollFloat32, sparsecollSum, nullptr,
                    comm, nullptr);
  const std::string verdict = expect("group", sparsecollGroupEnd(comm), sparsecollSuccess, comm);
  return verdict + expect("wait", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
}

TEST_CASE("after CommMeasure a group chooses by measured costs, and no call measures") {
  for (const int blocking : {1, 0}) {
    sparsecollConfig_t config = default_config();
    config.blocking = blocking;
    const Lines lines;
    const Ranks ranks(3, config), unmeasured(3, config);
    CHECK(ranks.run("measure", [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      std::string verdict = expect("measure", sparsecollCommMeasure(comm), sparsecollSuccess, comm);
      std::uint64_t sequence = 0;
      sparsecollCommGetSequence(comm, &sequence);
      sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
      sparsecollCommGetStats(comm, sparsecollStatsTotal, &stats);
      if (sequence != 1) verdict += "not call 1";
      if (stats.bytesReceived != 0) verdict += "counted";
      verdict += group(comm);
      return verdict + group(unmeasured.comm(rank));
    }) == "");
    CHECK(lines.with(kMeasured) == 3);
    // Both choose for the same shape. The predicted times differ unless the network is that of the
    // model to six digits.
    const int chosen = lines.with(" for count 100, k 5: ");
    CHECK(chosen >= 6);
    CHECK(lines.with(lines.after(" for count 100, k 5: ")) < chosen);
  }
}

TEST_CASE("CommMeasure with one rank does nothing") {
  const Lines lines;
  const Ranks ranks(1, default_config());
  CHECK(sparsecollCommMeasure(ranks.comm(0)) == sparsecollSuccess);
  std::uint64_t sequence = 99;
  CHECK(sparsecollCommGetSequence(ranks.comm(0), &sequence) == sparsecollSuccess);
  CHECK(sequence == 0);
  CHECK(lines.with(kMeasured) == 0);
}

TEST_CASE(
    "CommMeasure measures again, by nodes too, and tells the ranks that it is not their call") {
  const Lines lines;
  sparsecollConfig_t config = default_config();
  config.allowReordered = 1;
  const Ranks ranks(3, config);
  CHECK(ranks.run("measure", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::string verdict;
    for (int again = 0; again < 2; ++again)
      verdict += expect("measure", sparsecollCommMeasure(comm), sparsecollSuccess, comm);
    sparsecollGroupStart(comm);
    verdict += expect("in a group", sparsecollCommMeasure(comm), sparsecollInvalidUsage, comm);
    sparsecollGroupEnd(comm);
    float x = 1;
    const sparsecollResult_t result =
        rank == 1 ? settle(sparseAllreduce(&x, &x, 1, 1, sparsecollFloat32, sparsecollSum, nullptr,
                                           comm, nullptr),
                           comm)
                  : sparsecollCommMeasure(comm);
    return verdict + expect("different calls", result, sparsecollInvalidUsage, comm);
  }) == "");
  CHECK(lines.with(kMeasured) == 6);
  CHECK(lines.with("network: within nodes ") == 6);
  CHECK(call(ranks, 400, 10) == "");
  CHECK(lines.with(kMeasured) == 6);
}

/// Makes one call with a whole vector, k = n, in a group, which measures nothing. Only even ranks
/// have a residual. Every seventieth value is -0 on them, where other ranks have values. `left`
/// gets the residual of each rank, -0 for those without.
template <class T>
std::string select_whole(const Ranks& ranks, Kind kind, std::size_t n, std::uint64_t seed,
                         const std::vector<Residual<T>>& residuals,
                         oracle::PerRank<std::vector<oracle::Wide<T>>>& left) {
  oracle::DenseInputs<T> in{make_data_of_all<T>(kind, n, ranks.size(), seed), left};
  for (std::size_t r = 0; r < left.size(); r += 2)
    for (std::size_t i = 0; i < n; i += 70) in.sends[r][i] = static_cast<T>(-0.0f);
  const auto want = oracle::Oracle<T>::sparse_allreduce(in, n, oracle::Op::kAvg);
  for (std::size_t r = 0; r < left.size(); r += 2) left[r] = want.residuals[r];
  return ranks.run(name_of(kind), [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<T> recv(n, T{-77});
    const DenseCall<T> call{in.sends[r].data(), recv.data(),   n,
                            SPARSECOLL_ALL,     sparsecollAvg, residuals[r].handle()};
    const sparsecollResult_t result =
        in_group(ranks.comm(rank), [&] { call_dense_verb(Verb::kSparse, call, ranks.comm(rank)); });
    std::string verdict = expect("the group", result, sparsecollSuccess, ranks.comm(rank));
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollCommGetStats(ranks.comm(rank), sparsecollStatsLast, &stats);
    if (verdict.empty() && (stats.selected != want.selected[r] || stats.result != want.delivered))
      verdict = "counts of zeros";
    if (verdict.empty()) verdict = difference("result", recv, want.result);
    if (verdict.empty() && r % 2 == 0)
      verdict = difference("residual", residuals[r].read(), want.residuals[r]);
    return verdict;
  });
}

/// Makes calls on vectors that are full, cancel, are empty, and are full again.
template <class T>
std::string select_wholes(const Ranks& ranks) {
  constexpr std::size_t kLength = 40000;
  std::vector<Residual<T>> residuals;
  for (int r = 0; r < ranks.size(); ++r) residuals.emplace_back(ranks.comm(r), kLength, r % 2 == 0);
  oracle::PerRank<std::vector<oracle::Wide<T>>> left(residuals.size(),
                                                     std::vector<oracle::Wide<T>>(kLength, -0.0f));
  for (std::size_t r = 0; r < left.size(); r += 2) residuals[r].write(left[r]);
  std::uint64_t seed = base_seed();
  for (const Kind kind : {Kind::kWideIntegers, Kind::kWideIntegers, Kind::kCancelling,
                          Kind::kHeavyTail, Kind::kSignedZeros, Kind::kOneNonZero,
                          Kind::kOneNonZero, Kind::kNotFinite, Kind::kWideIntegers}) {
    const std::string verdict = select_whole<T>(ranks, kind, kLength, ++seed, residuals, left);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

TEST_CASE("Auto takes Dense where all of dense vectors is selected, and gives the definition") {
  for (const int P : rank_counts()) {
    const Lines lines;
    const Ranks ranks(P, default_config());
    CHECK(select_wholes<float>(ranks) == "");
    const int chosen = lines.with("auto: dense for count");
    // When it was known, and once more at the end. Two ranks may find another as good.
    if (P != 2) CHECK(chosen == (P == 1 ? 0 : 2 * P));
    CHECK(select_wholes<double>(ranks) == "");
    const int both = lines.with("auto: dense for count");
    if (P != 2) CHECK(both == 2 * chosen);
    // bfloat16 rounds differently.
    CHECK(select_wholes<oracle::Bfloat16>(ranks) == "");
    CHECK(lines.with("auto: dense for count") == both);
  }
}

}  // namespace
}  // namespace sparsecoll::test
