// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// PROGRAM SCENARIO VERB VICTIM DIRECTORY One rank dies, stops, sleeps or leaves; every other rank
// writes to DIRECTORY/rank_R what it saw. run_fault.sh collects the files. In the scenarios
// ask-before and ask-during another program makes the rank fail when the file DIRECTORY/ask tells
// it to: ../netlab/run_netlab.sh cuts the rank's link.

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "support/mpi_verdict.hpp"
#include "support/ready_time.hpp"

namespace sparsecoll::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// run_fault.sh chooses it: it tries a longer one if ranks got no CPU for as long as the first.
inline const int kDeadlineMs = [] {
  const char* const chosen = std::getenv("SPARSECOLL_TEST_DEADLINE_MS");
  return chosen ? std::atoi(chosen) : 1500;
}();
/// The promise: a call ends a second after its deadline at most, in seconds.
inline const double kEndsAfter = kDeadlineMs / 1000.0 + 1.0;
inline constexpr int kWarmUp = 3;
inline constexpr int kCallsAtMost = 100000;

double seconds_since(Clock::time_point start);

/// Measures the time since it was made.
class Stopwatch {
 public:
  double seconds() const { return seconds_since(start_); }
  /// Returns "" or, if more than `limit` seconds have passed, that `what` took so long, and for how
  /// long a thread was ready but got no CPU. That is not excused: a thread that polls is often
  /// ready.
  std::string too_long(const std::string& what, double limit) const;

 private:
  ReadyTime ready_;
  Clock::time_point start_ = Clock::now();
};

/// A child process, started before MPI, that wakes its parent some time after it was asked to.
class Waker {
 public:
  Waker();
  /// Stops this process for about `delay` milliseconds.
  void stop_for(int delay) const;

 private:
  int tell_;
};

/// The command line of a rank.
struct FaultCase {
  std::string scenario;
  std::string verb;
  std::string victims_number;
  bool is_victim;
  std::string directory;
};

/// The rank that fails, and when.
class Victim {
 public:
  explicit Victim(const FaultCase& fault)
      : scenario_(fault.scenario), is_me_(fault.is_victim), directory_(fault.directory) {}

  void before_call(int call, const Waker& waker) const;
  void after_call(int call) const;

  /// Returns whether all calls are expected to work.
  bool harmless() const { return scenario_ == "pause"; }

  /// Returns whether the victim never joins the call that fails, so that all others can name it.
  bool stays_away() const {
    return scenario_ == "kill-before" || scenario_ == "never" || scenario_ == "stop" ||
           scenario_ == "exit" || scenario_ == "ask-before";
  }
  bool is_me() const { return is_me_; }

 private:
  std::string scenario_;
  bool is_me_;
  std::string directory_;
};

/// Checks a poisoned communicator: `call` returns the first error again, at once, and the
/// communicator can be destroyed.
std::string check_poisoned(sparsecollComm_t comm, const std::function<sparsecollResult_t()>& call,
                           sparsecollResult_t first);

/// Initialises MPI, runs `body`, which gives "" when all is well, writes the file. For main().
int run_rank(int argc, char** argv,
             const std::function<std::string(const FaultCase&, const Waker&)>& body);

}  // namespace sparsecoll::test
