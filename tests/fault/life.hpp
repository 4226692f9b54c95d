// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/communicators.hpp"
#include "fault/pulse.hpp"
#include "fault/schedule.hpp"
#include "support/folder.hpp"

namespace sparsecoll::fault {

/// What all cases of a run share.
struct Surroundings {
  double slack;  ///< seconds that a call may be late
  const Pulse& pulse;
  const test::Folder& folder;
};

/// One rank's part in a schedule: makes its calls and judges what they say and leave behind.
class Life {
 public:
  Life(const Schedule& schedule, unit::Communicators& ranks, int rank,
       const Surroundings& surroundings)
      : schedule_(schedule), ranks_(ranks), rank_(rank), around_(surroundings) {}

  /// "" or the first thing that must not be.
  std::string live();

  /// How many calls it took part in, and which of them were done.
  size_t entered() const { return entered_; }
  const std::vector<bool>& done() const { return done_; }
  /// The first call that a fatal error may be of; beyond all calls where there was none.
  size_t failed() const { return first_ == sparsecollSuccess ? done_.size() : failed_; }
  /// Which of them ended without a fatal error, done or refused on all ranks, and left the
  /// communicator sound.
  const std::vector<bool>& survived() const { return survived_; }

 private:
  struct Answer {
    sparsecollResult_t result;
    Clock::time_point start;
    double seconds;
    std::string message;
  };

  std::string make_each();
  std::string make_all();
  std::string end();
  Answer make(size_t number);
  Answer wait_for(uint64_t sequence);
  std::string judge(size_t number, const Answer& answer, bool fetches);
  std::string judge_poisoned(size_t number, const Answer& answer);
  std::string judge_fatal(size_t number, const Answer& answer);
  std::string judge_done(size_t number, const Answer& answer, bool fetches);
  /// Whether the residuals are as they have to be now.
  std::string check_residuals(size_t calls) const;
  std::string differ(size_t calls) const;
  std::string check_sequence(size_t number);
  /// Seconds that a wait since `start` may have taken beside what the deadlines allow.
  double slack(Clock::time_point start) const;
  double limit(Clock::time_point start) const;
  /// Residuals go into files and come back, at times.
  std::string save_and_load(size_t number);
  sparsecollComm_t comm() const { return ranks_.handle(rank_); }

  const Schedule& schedule_;
  unit::Communicators& ranks_;
  int rank_;
  const Surroundings& around_;
  std::vector<bool> done_;
  std::vector<bool> survived_;
  size_t entered_ = 0;
  size_t failed_ = 0;  ///< the first call that the first fatal error may be of
  uint64_t expected_sequence_ = 0;
  sparsecollResult_t first_ = sparsecollSuccess;  ///< the first fatal error
};

}  // namespace sparsecoll::fault
