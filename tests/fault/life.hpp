// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fault/schedule.hpp"
#include "unit/communicators.hpp"

namespace sparsecoll::fault {

/// One rank's part in a schedule: makes its calls and judges what they say and leave behind.
class Life {
 public:
  Life(const Schedule& schedule, unit::Communicators& ranks, int rank, double slack)
      : schedule_(schedule), ranks_(ranks), rank_(rank), slack_(slack) {}

  /// "" or the first thing that must not be.
  std::string live();

  /// How many calls it took part in, and which of them were done.
  size_t entered() const { return entered_; }
  const std::vector<bool>& done() const { return done_; }

 private:
  struct Answer {
    sparsecollResult_t result;
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
  double limit() const;
  sparsecollComm_t comm() const { return ranks_.handle(rank_); }

  const Schedule& schedule_;
  unit::Communicators& ranks_;
  int rank_;
  double slack_;
  std::vector<bool> done_;
  size_t entered_ = 0;
  size_t failed_ = 0;  ///< the first call that the first fatal error may be of
  uint64_t expected_sequence_ = 0;
  sparsecollResult_t first_ = sparsecollSuccess;  ///< the first fatal error
};

}  // namespace sparsecoll::fault
