// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls at the wrong time or from the wrong thread, calls that no other rank makes, aborts,
// and what a poisoned communicator returns afterwards.

#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

const std::vector<Mode> kModes{kAllgather, kOktopk, kDense, kGtopk};

sparsecollConfig_t with_deadline(const Mode& mode, int milliseconds_) {
  sparsecollConfig_t config = config_of(mode);
  config.timeoutMs = milliseconds_;
  return config;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Makes a small call in place. Every rank passes the same numbers.
sparsecollResult_t small_call(const Mode& mode, sparsecollComm_t comm) {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  return call_dense_verb<float>(mode.verb, {x.data(), x.data(), x.size(), 3}, comm);
}

/// Checks that every later call returns the first error at once, and that destroy ends in time.
std::string check_poisoned(Ranks& ranks, int rank, const Mode& mode, sparsecollResult_t first) {
  const sparsecollComm_t comm = ranks.comm(rank);
  const std::string message = sparsecollGetLastError(comm);
  if (message.empty()) return "no message";
  sparsecollResult_t error = sparsecollSuccess;
  const Clock::time_point start = Clock::now();
  for (int again = 0; again < 3; ++again) {
    const std::string verdict = expect("a later call", small_call(mode, comm), first, comm);
    if (!verdict.empty()) return verdict;
    if (message != sparsecollGetLastError(comm)) {
      return "the first error was '" + message + "', now it is '" + sparsecollGetLastError(comm) +
             "'";
    }
  }
  if (sparsecollCommGetAsyncError(comm, &error) != sparsecollSuccess || error != first) {
    return std::string("the asynchronous error is ") + sparsecollGetErrorString(error);
  }
  const std::string verdict = expect("destroy", ranks.destroy(rank), sparsecollSuccess, nullptr);
  if (!verdict.empty()) return verdict;
  return seconds_since(start) < patience() ? "" : "later calls and destroy were late";
}

TEST_CASE("a second thread on a communicator in use is turned away") {
  for (const Mode& mode : kModes) {
    Ranks ranks(2, config_of(mode));
    std::atomic<bool> turned_away{false};
    CHECK(ranks.run(mode.name, [&](int rank) -> std::string {
      if (rank == 0)
        return expect("first", small_call(mode, ranks.comm(0)), sparsecollSuccess, ranks.comm(0));
      // Rank 0 stays in its call, which needs this rank's.
      for (std::uint64_t begun = 0; begun == 0; sparsecollCommGetSequence(ranks.comm(0), &begun))
        std::this_thread::yield();
      const sparsecollResult_t second = small_call(mode, ranks.comm(0));
      const sparsecollResult_t destroy = sparsecollCommDestroy(ranks.comm(0));
      turned_away = second == sparsecollInvalidUsage && destroy == sparsecollInvalidUsage;
      return expect("peer", small_call(mode, ranks.comm(1)), sparsecollSuccess, ranks.comm(1));
    }) == "");
    CHECK(turned_away);
    CHECK(run_case(ranks, Case{1, mode, 100, 5}) == "");
  }
}

std::string abort_a_call(int P, const Mode& mode) {
  Ranks ranks(P, with_deadline(mode, 30000));
  Clock::time_point aborted;
  std::thread aborter([&] {
    std::this_thread::sleep_for(milliseconds(50));
    aborted = Clock::now();
    sparsecollCommAbort(ranks.comm(0));
  });
  const sparsecollResult_t result = small_call(mode, ranks.comm(0));
  aborter.join();
  const double took = seconds_since(aborted);
  std::string wrong = expect("the aborted call", result, sparsecollInvalidUsage, ranks.comm(0));
  wrong = wrong_or_late(wrong, took, patience());
  if (wrong.empty()) wrong = check_poisoned(ranks, 0, mode, sparsecollInvalidUsage);
  if (!wrong.empty()) return wrong;
  // The peers call afterwards: a rank that waits for the aborted one sees that it has gone, and
  // notifies the others.
  return ranks.run("the peers of an aborted rank", [&](int rank) -> std::string {
    if (rank == 0) return "";
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t after = small_call(mode, ranks.comm(rank));
    if (seconds_since(start) > patience()) return "a peer's error came late";
    return expect("a peer's call", after, sparsecollRemoteError, ranks.comm(rank));
  });
}

TEST_CASE("abort from another thread ends a call that waits") {
  for (const int P : {2, 3, 5})
    for (const Mode& mode : kModes) {
      INFO(mode.name << " P=" << P);
      CHECK(unless_late_by_chance([&] { return abort_a_call(P, mode); }) == "");
    }
}

std::string abort_when_idle() {
  Ranks ranks(2, default_config());
  const std::string wrong = run_case(ranks, Case{1, kAuto, 100, 5});
  CHECK(sparsecollCommAbort(ranks.comm(1)) == sparsecollSuccess);
  CHECK(sparsecollCommAbort(ranks.comm(1)) == sparsecollSuccess);
  CHECK(small_call(kAuto, ranks.comm(1)) == sparsecollInvalidUsage);
  return wrong.empty() ? check_poisoned(ranks, 1, kAuto, sparsecollInvalidUsage) : wrong;
}

TEST_CASE("abort of an idle communicator poisons it") {
  CHECK(unless_late_by_chance(abort_when_idle) == "");
}

/// Rank P/2 makes two calls, the others one.
std::string call_once_too_often(int P, const Mode& mode, int deadline_ms) {
  Ranks ranks(P, with_deadline(mode, deadline_ms));
  const int eager = P / 2;
  const std::string wrong = ranks.run(mode.name, [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::string verdict = expect("the call", small_call(mode, comm), sparsecollSuccess, comm);
    if (!verdict.empty() || rank != eager) return verdict;
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t extra = small_call(mode, comm);
    if (seconds_since(start) > deadline_ms / 1000.0 + patience()) return "the timeout came late";
    verdict = expect("the call too many", extra, sparsecollTimeout, comm);
    const std::string message = sparsecollGetLastError(comm);
    for (int other = 0; other < P && verdict.empty(); ++other) {
      if (other != rank && !has_word(message, std::to_string(other))) {
        verdict = "rank " + std::to_string(other) + " is not named: " + message;
      }
    }
    return verdict;
  });
  return wrong.empty() ? check_poisoned(ranks, eager, mode, sparsecollTimeout) : wrong;
}

TEST_CASE("a rank that calls once too often times out, and its error names who is missing") {
  for (const int P : {2, 3, 4})
    for (const Mode& mode : kModes)
      CHECK(with_longer_deadlines(300, [&](int ms) { return call_once_too_often(P, mode, ms); }) ==
            "");
}

/// Lets all ranks but the last make a call, and destroys their communicators.
std::string never_call(int P, const Mode& mode, int deadline_ms) {
  const std::size_t n = 200;
  Ranks ranks(P, with_deadline(mode, deadline_ms));
  const int missing = P - 1;
  std::string wrong = ranks.run(mode.name, [&](int rank) -> std::string {
    if (rank == missing) return "";
    const sparsecollComm_t comm = ranks.comm(rank);
    Residual<float> residual(comm, n);
    const auto before = make_data<float>(Kind::kWideIntegers, n, rank, P, 4);
    residual.write(before);
    const auto send = make_data<float>(Kind::kWideIntegers, n, rank, P, 5);
    std::vector<float> recv(n);
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t result = call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), n, 20, sparsecollSum, residual.handle()}, comm);
    if (seconds_since(start) > deadline_ms / 1000.0 + patience()) return "the error came late";
    // A peer that timed out first and left counts as failed.
    if (result != sparsecollTimeout && result != sparsecollRemoteError) {
      return explain(result, comm);
    }
    // Without the missing rank's share no call can have been committed.
    return difference("residual", residual.read(), before);
  });
  for (int rank = 0; rank < P && wrong.empty(); ++rank) {
    const Clock::time_point start = Clock::now();
    wrong = expect("destroy", ranks.destroy(rank), sparsecollSuccess, nullptr);
    wrong = wrong_or_late(wrong, seconds_since(start), patience());
  }
  return wrong;
}

TEST_CASE("a rank that never calls: everybody else times out, residuals are old or new") {
  for (const int P : {2, 3, 5, 8})
    for (const Mode& mode : kModes)
      CHECK(with_longer_deadlines(300, [&](int ms) { return never_call(P, mode, ms); }) == "");
}

TEST_CASE("a rank that comes late but within the deadline spoils nothing") {
  for (const Mode& mode : kModes) {
    const Ranks ranks(3, with_deadline(mode, 60000));
    CHECK(ranks.run(mode.name, [&](int rank) -> std::string {
      if (rank == 1) std::this_thread::sleep_for(milliseconds(500));
      return expect("the call", small_call(mode, ranks.comm(rank)), sparsecollSuccess,
                    ranks.comm(rank));
    }) == "");
    CHECK(run_case(ranks, Case{1, mode, 100, 5}) == "");
  }
}

std::string leave_while_others_wait(const Mode& mode) {
  Ranks ranks(3, with_deadline(mode, 30000));
  const std::string wrong = ranks.run(mode.name, [&](int rank) -> std::string {
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      return expect("destroy", ranks.destroy(1), sparsecollSuccess, nullptr);
    }
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t result = small_call(mode, ranks.comm(rank));
    if (seconds_since(start) > 0.05 + patience()) return "the error came late";
    return expect("the call", result, sparsecollRemoteError, ranks.comm(rank));
  });
  return wrong.empty() ? check_poisoned(ranks, 0, mode, sparsecollRemoteError) : wrong;
}

TEST_CASE("a peer that destroys its communicator ends the waiting of the others") {
  for (const Mode& mode : kModes)
    CHECK(unless_late_by_chance([&] { return leave_while_others_wait(mode); }) == "");
}

/// Rank 0 calls after `leaver` has left; the third rank stays away.
std::string call_after_a_leave(const Mode& mode, int leaver) {
  Ranks ranks(3, with_deadline(mode, 30000));
  std::atomic<bool> left = false, heard = false;
  return ranks.run(mode.name, [&](int rank) -> std::string {
    if (rank == leaver) {
      const sparsecollResult_t result = ranks.destroy(rank);
      left = true;
      return expect("destroy", result, sparsecollSuccess, nullptr);
    }
    const std::atomic<bool>& signal = rank == 0 ? left : heard;
    while (!signal) std::this_thread::sleep_for(milliseconds(1));
    if (rank != 0) return "";
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t result = small_call(mode, ranks.comm(rank));
    const double seconds = seconds_since(start);
    heard = true;
    if (seconds > 0.05 + patience()) return "the error came late";
    return expect("the call", result, sparsecollRemoteError, ranks.comm(rank));
  });
}

TEST_CASE("who waits for one that stays away hears that another has left") {
  for (const Mode& mode : kModes)
    for (const int leaver : {1, 2})
      CHECK(unless_late_by_chance([&] { return call_after_a_leave(mode, leaver); }) == "");
}

TEST_CASE("no deadline: a call waits as long as it takes") {
  const Ranks ranks(2, with_deadline(kAuto, 0));
  CHECK(ranks.run("timeoutMs = 0", [&](int rank) -> std::string {
    if (rank == 1) std::this_thread::sleep_for(milliseconds(700));
    return expect("the call", small_call(kAuto, ranks.comm(rank)), sparsecollSuccess,
                  ranks.comm(rank));
  }) == "");
}

/// Queries the communicator until its handle is destroyed. Returns "" or the first wrong answer.
std::string ask_until_gone(sparsecollComm_t comm, std::atomic<int>& asked) {
  for (;; ++asked) {
    sparsecollResult_t error = sparsecollInternalError;
    std::uint64_t sequence = 0;
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    const sparsecollResult_t answer = sparsecollCommGetAsyncError(comm, &error);
    if (answer == sparsecollInvalidArgument) return "";
    if (answer != sparsecollSuccess) return explain(answer, nullptr);
    // InvalidArgument: it was destroyed after it was found.
    if (error != sparsecollSuccess && error != sparsecollInProgress &&
        error != sparsecollInvalidArgument)
      return std::string("the asynchronous error is ") + sparsecollGetErrorString(error);
    sparsecollCommGetSequence(comm, &sequence);
    sparsecollCommGetStats(comm, sparsecollStatsTotal, &stats);
  }
}

TEST_CASE("a thread may ask for errors while another makes calls and destroys the communicator") {
  for (const int blocking : {1, 0}) {
    for (int round = 0; round < 20; ++round) {
      sparsecollConfig_t config = config_of(kOktopk);
      config.blocking = blocking;
      Ranks ranks(2, config);
      const sparsecollComm_t watched = ranks.comm(0);
      std::atomic<int> asked{0};
      std::string seen;
      std::thread watcher([&] { seen = ask_until_gone(watched, asked); });
      while (asked < 3) std::this_thread::yield();
      CHECK(ranks.run("calls and an end", [&](int rank) {
        std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
        std::string verdict;
        for (int call = 0; call < 3 && verdict.empty(); ++call) {
          const sparsecollComm_t comm = ranks.comm(rank);
          sparsecollResult_t result =
              call_dense_verb<float>(Verb::kSparse, {x.data(), x.data(), x.size(), 3}, comm);
          if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
          verdict = expect("call", result, sparsecollSuccess, comm);
        }
        return verdict + expect("destroy", ranks.destroy(rank), sparsecollSuccess, nullptr);
      }) == "");
      watcher.join();
      CHECK(seen == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
