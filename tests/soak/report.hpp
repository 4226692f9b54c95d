// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sparsecoll::soak {

/// The counts and the verdict of one rank of a job. perf/soak adds the reports of many jobs.
struct Report {
  int rank = 0;           ///< in the world
  std::string verdict;    ///< the first violation of a promise, or ""
  bool dies = false;      ///< the rank was told to die
  bool excluded = false;  ///< most others went on without it, though it lived: a busy machine

  uint64_t calls = 0;       ///< collective calls of the schedule that this rank made
  uint64_t faulty = 0;      ///< of these: refused, or made while a fault was injected
  uint64_t refused = 0;     ///< calls with a bad argument on one rank
  uint64_t failed = 0;      ///< calls that ended with a fatal error
  uint64_t kills = 0;       ///< ranks that died, and were left out
  uint64_t lates = 0;       ///< ranks that came after the deadline
  uint64_t aborts = 0;      ///< ranks whose communicator another thread aborted
  uint64_t shrinks = 0;     ///< communicators made by a shrink
  uint64_t saves = 0;       ///< residuals saved and loaded
  uint64_t dead_files = 0;  ///< files of ranks that died while they saved, loaded by another rank
  uint64_t unplanned = 0;   ///< calls that failed by their deadline without an injected fault

  std::string first_unplanned;  ///< the reason of the first of them
  double worst_over = 0;   ///< the longest that a function took beyond its deadline, in seconds
  std::string worst_what;  ///< that function
  double worst_own = 0;    ///< the same without the time for which its threads were ready to run
  double worst_delay = 0;  ///< the longest delay of a thread by the machine, in seconds

  /// Writes it as JSON. Returns false if it cannot.
  bool write(const std::string& path) const;
};

}  // namespace sparsecoll::soak
