// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Splits that fail after all ranks agreed and before the new communicator exists, and splits that
// are aborted. Both are fatal errors of the old communicator, before its deadline.

#include <atomic>
#include <chrono>
#include <thread>

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::fault {
namespace {

using std::chrono::milliseconds;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Delays all messages of rank 0 for 1000 s. Rank 1 waits for the color of rank 0; rank 0 waits for
/// rank 1 in the new communicator.
FaultPlan keep_rank_1_waiting() {
  return [](int sender, int, size_t) {
    MessageFault fault;
    if (sender == 0) fault.delay = milliseconds(1000000);
    return fault;
  };
}

std::string stay_away_from_the_child() {
  unit::Communicators ranks(2, test::default_config(), keep_rank_1_waiting());
  std::thread aborter([&] {
    std::this_thread::sleep_for(milliseconds(100));
    sparsecollCommAbort(ranks.handle(1));
  });
  const auto start = Clock::now();
  const std::string wrong = ranks.run("split", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t child = nullptr;
    const sparsecollResult_t want = rank == 0 ? sparsecollRemoteError : sparsecollInvalidUsage;
    std::string verdict =
        test::expect("split", sparsecollCommSplit(comm, 0, 0, &child, nullptr), want, comm);
    if (child != nullptr) verdict += "; a communicator was returned";
    sparsecollResult_t asynchronous = sparsecollSuccess;
    sparsecollCommGetAsyncError(comm, &asynchronous);
    if (asynchronous != want) verdict += "; the communicator is not poisoned";
    return verdict;
  });
  const double took = seconds_since(start);
  aborter.join();
  return test::wrong_or_late(wrong, took, 0.1 + test::patience());
}

TEST_CASE("if a rank does not join the new communicator, the split fails on the others at once") {
  CHECK(test::unless_late_by_chance(stay_away_from_the_child) == "");
}

std::string split_within(int deadline_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = deadline_ms;
  // Rank 0 waits for the color of rank 1, then for rank 1 in the new communicator. Rank 1 never
  // receives the color of rank 0.
  unit::Communicators ranks(2, config, [deadline_ms](int sender, int, size_t) {
    MessageFault fault;
    fault.delay = milliseconds(sender == 0 ? 7 * deadline_ms : deadline_ms * 5 / 6);
    return fault;
  });
  return ranks.run("split", [&](int rank) -> std::string {
    sparsecollComm_t child = nullptr;
    const auto start = Clock::now();
    const sparsecollResult_t got = sparsecollCommSplit(ranks.handle(rank), 0, 0, &child, nullptr);
    // A second deadline would end 5/6 after the first.
    if (seconds_since(start) > deadline_ms / 1000.0 * 4 / 3) return "the error came late";
    if (got == sparsecollRemoteError) return "";  // the other rank's deadline passed first
    return got == sparsecollTimeout ? "" : test::explain(got, ranks.handle(rank));
  });
}

TEST_CASE("a split has one deadline for the old and the new communicator") {
  CHECK(test::with_longer_deadlines(3000, split_within) == "");
}

std::string miss_rank_0_of_the_child(int deadline_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = deadline_ms;
  unit::Communicators ranks(2, config, keep_rank_1_waiting());
  return ranks.run("split", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t child = nullptr;
    // Rank 1 begins later, so that its deadline is not the first to pass.
    if (rank == 1) std::this_thread::sleep_for(milliseconds(deadline_ms / 2));
    const sparsecollResult_t got = sparsecollCommSplit(comm, 0, -rank, &child, nullptr);
    if (rank == 1) return got == sparsecollSuccess ? "rank 1 received a color" : "";
    const std::string message = sparsecollGetLastError(comm);
    const bool named =
        message.find("in the new communicator, where this rank is 1 of 2: ") != std::string::npos &&
        message.find("nothing was heard from rank 0") != std::string::npos;
    return got == sparsecollTimeout && named ? "" : text(got, ": ", message);
  });
}

TEST_CASE("an error of the new communicator says that its ranks are meant") {
  CHECK(test::with_longer_deadlines(2000, miss_rank_0_of_the_child) == "");
}

std::string abort_in_the_child() {
  unit::Communicators ranks(2, test::default_config(), keep_rank_1_waiting());
  std::atomic<bool> ended{false};
  Clock::time_point aborted;
  std::thread aborter([&] {
    std::this_thread::sleep_for(milliseconds(100));
    aborted = Clock::now();
    sparsecollCommAbort(ranks.handle(0));
    while (!ended) std::this_thread::sleep_for(milliseconds(1));
    sparsecollCommAbort(ranks.handle(1));  // still waits for the color of rank 0
  });
  const std::string wrong = ranks.run("split", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t child = nullptr;
    std::string verdict = test::expect("split", sparsecollCommSplit(comm, 0, 0, &child, nullptr),
                                       sparsecollInvalidUsage, comm);
    const double took = rank == 0 ? seconds_since(aborted) : 0;
    if (rank == 0) ended = true;
    if (child != nullptr) verdict += "; a communicator was returned";
    verdict += test::expect("again", sparsecollCommSplit(comm, 0, 0, &child, nullptr),
                            sparsecollInvalidUsage, comm);
    return test::wrong_or_late(verdict, took, test::patience());
  });
  aborter.join();
  return wrong;
}

TEST_CASE("an abort ends a split that waits in the new communicator") {
  CHECK(test::unless_late_by_chance(abort_in_the_child) == "");
}

/// Checks the result of a split during which rank 0 aborts. A new communicator either works or
/// fails with sparsecollRemoteError.
std::string end_of_race(int rank, sparsecollResult_t result, sparsecollComm_t child) {
  if (result != sparsecollSuccess) {
    if (child != nullptr) return "a child in spite of an error";
    if (rank == 0) return result == sparsecollInvalidUsage ? "" : "rank 0 was not aborted";
    return result == sparsecollRemoteError ? "" : sparsecollGetErrorString(result);
  }
  float one = 1, sum = 0;
  const sparsecollResult_t used =
      sparseAllreduce(&one, &sum, 1, 1, sparsecollFloat32, sparsecollSum, nullptr, child, nullptr);
  sparsecollCommDestroy(child);
  if (used == sparsecollSuccess) return sum == 3 ? "" : "a wrong sum in the child";
  return used == sparsecollRemoteError ? "" : sparsecollGetErrorString(used);
}

/// Aborts rank 0 `after` all ranks have begun a split.
std::string abort_during_split(std::chrono::microseconds after) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = 20000;
  unit::Communicators ranks(3, config);
  std::atomic<int> inside{0};
  std::thread aborter([&] {
    while (inside < 3) std::this_thread::yield();
    const auto start = Clock::now();
    while (Clock::now() - start < after) continue;
    sparsecollCommAbort(ranks.handle(0));
  });
  const auto start = Clock::now();
  const std::string wrong = ranks.run("split", [&](int rank) -> std::string {
    ++inside;
    sparsecollComm_t child = nullptr;
    const sparsecollResult_t result =
        sparsecollCommSplit(ranks.handle(rank), 0, -rank, &child, nullptr);
    return end_of_race(rank, result, child);
  });
  const double took = seconds_since(start);
  aborter.join();
  return test::wrong_or_late(wrong, took, test::patience());
}

TEST_CASE("an abort at any time of a split ends it on all ranks") {
  for (int round = 0; round < 200; ++round) {
    INFO("round " << round);
    CHECK(test::unless_late_by_chance(
              [&] { return abort_during_split(std::chrono::microseconds(2 * round)); }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::fault
