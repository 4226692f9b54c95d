// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "api/communicators.hpp"
#include "fault/schedule.hpp"
#include "fault/scheduling_delays.hpp"
#include "support/folder.hpp"

namespace sparsecoll::fault {

/// The longest of many times, which several threads report.
class LongestTime {
 public:
  void add(double seconds) {
    double longest = seconds_;
    while (seconds > longest && !seconds_.compare_exchange_weak(longest, seconds)) continue;
  }
  double seconds() const { return seconds_; }

 private:
  std::atomic<double> seconds_{0};
};

/// The settings and objects that all cases of a program run share.
struct RunEnvironment {
  double slack;  ///< seconds that a call may end after its deadline
  const SchedulingDelays& delays;
  const test::Folder& folder;
  LongestTime& over;  ///< how long calls took beyond their deadline
};

/// Runs the calls of a schedule on one rank and checks their results, outputs and residuals.
class ScheduleRunner {
 public:
  ScheduleRunner(const Schedule& schedule, unit::Communicators& ranks, int rank,
                 const RunEnvironment& environment)
      : schedule_(schedule), ranks_(ranks), rank_(rank), environment_(environment) {}

  /// Makes the calls and destroys the communicator. Returns "" or the first violation of a rule.
  std::string run();

  /// The number of calls that the rank started, and for each call whether it completed.
  size_t started_calls() const { return started_calls_; }
  const std::vector<bool>& done() const { return done_; }
  /// The first call that may have caused the fatal error, or the number of calls if there was no
  /// error.
  size_t first_failed_call() const {
    return first_error_ == sparsecollSuccess ? done_.size() : first_failed_call_;
  }
  /// For each call: it ended without a fatal error, completed or refused, and the communicator was
  /// not poisoned.
  const std::vector<bool>& ended_soundly() const { return ended_soundly_; }

 private:
  struct Outcome {
    sparsecollResult_t result;
    Clock::time_point start;
    double seconds;
    std::string message;
  };

  std::string make_and_wait_each();
  std::string make_all_then_wait();
  std::string destroy();
  Outcome make_call(size_t number);
  Outcome wait_for(uint64_t sequence);
  std::string check(size_t number, const Outcome& outcome, bool may_fetch);
  std::string check_poisoned(size_t number, const Outcome& outcome);
  std::string check_fatal(size_t number, const Outcome& outcome);
  std::string check_done(size_t number, const Outcome& outcome, bool may_fetch);
  /// Compares the residuals with their expected values after `calls` calls.
  std::string check_residuals(size_t calls) const;
  std::string residual_difference(size_t calls) const;
  std::string check_sequence(size_t number);
  /// Returns how many seconds a wait since `start` may take beyond its deadline.
  double slack(Clock::time_point start) const;
  double time_limit(Clock::time_point start) const;
  /// Saves and loads all residuals after some of the calls.
  std::string save_and_load(size_t number);
  sparsecollComm_t comm() const { return ranks_.handle(rank_); }

  const Schedule& schedule_;
  unit::Communicators& ranks_;
  int rank_;
  const RunEnvironment& environment_;
  std::vector<bool> done_;
  std::vector<bool> ended_soundly_;
  size_t started_calls_ = 0;
  size_t first_failed_call_ = 0;  ///< the first call that may have caused first_error_
  uint64_t expected_sequence_ = 0;
  sparsecollResult_t first_error_ = sparsecollSuccess;  ///< the first fatal error
};

}  // namespace sparsecoll::fault
