// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One rank of a job of the soak. It makes random calls together with the others; ranks die, are
// late, are aborted, pass bad arguments; those that remain shrink the communicator, move their
// residuals, and go on. Every rank computes the oracle's results and residuals of all ranks, so
// that it needs no other rank to check its own.
//
// A rank that is to die writes its report before: what happens in its last call is not checked.
//
// The rules that it checks:
//  1. No function takes longer than its deadline, --slack, and the delays by the machine: the time
//     for which a thread was ready to run and did not, and 50 times the longest delay of a thread
//     that wakes up.
//  2. After Success and Truncated, output and residuals are those of the oracle, bit for bit.
//  3. A call with a bad argument on one rank is InvalidArgument there, InvalidUsage on the others,
//     and changes nothing.
//  4. A call fails only after a fault, or by its deadline. Every later call returns the same error.
//  5. The ranks that remain can shrink, within eight attempts; a rank that cannot, on a busy
//     machine, is excluded. A job in which all are has broken the rule, unless a thread waited for
//     a CPU for half a deadline: then perf/soak tries it again with longer ones. All agree on who
//     remains, and on the last call that counts: residuals are those after it, bit for bit, on
//     every rank. So nothing is lost of what the ranks that remain have put in.
//  6. A residual that is saved and loaded is the same. The file of a rank that died while it saved
//     is whole, and at most one unfinished file is left.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fault/scheduling_delays.hpp"
#include "soak/epoch.hpp"
#include "soak/report.hpp"

namespace sparsecoll::soak {

/// How a rank dies: by SIGKILL, or, if it is a thread, by an abort after which it never calls
/// again.
enum class Death { kOfProcess, kOfThread };

class SoakRank {
 public:
  /// Takes the communicator, whose configuration is first_config(options).
  SoakRank(const Options& options, int rank, int size, sparsecollComm_t comm, Death death);

  /// Runs the job. Writes the report to FOLDER/rank_R. Returns true if all was well.
  bool run();

 private:
  enum class Outcome { kDone, kFailed, kDead };

  std::string run_job();
  /// Makes the calls of the epoch, up to one that fails. Sets `wrong` where a rule is broken.
  Outcome run_epoch(std::string* wrong);
  /// Returns true if this rank is dead.
  bool begin_fault();
  void save_until_death();
  sparsecollResult_t make_call(size_t number);
  /// Sets `fatal` if the communicator is poisoned.
  std::string check_call(size_t number, sparsecollResult_t result, bool* fatal);
  std::string check_fatal(size_t number);
  /// Checks that the residuals are those after one number of calls from `least` to `most`.
  std::string check_residuals(size_t least, size_t most) const;
  std::string save_and_load();
  void note_unplanned(const std::string& what);
  bool is_victim() const { return epoch_->fault().victim == own_; }

  /// Makes the communicator of the ranks that remain, and moves the residuals to it.
  std::string go_on();
  /// Asks who is in the communicator. `members` stays empty if nobody knows, because a rank of it
  /// has failed.
  std::string roll_call(std::vector<int>* members);
  /// Goes on with these ranks, as after `state` calls of the epoch.
  std::string adopt(const std::vector<int>& members, size_t state);

  /// `may_fail`: a rank of this healthy communicator is dead.
  std::string destroy(sparsecollComm_t comm, bool may_fail);
  /// Calls `function` and checks how long it took.
  sparsecollResult_t timed(const std::string& what,
                           const std::function<sparsecollResult_t()>& function);
  std::string file(const std::string& name) const { return options_.folder + "/" + name; }

  Options options_;
  int rank_;  ///< in the world
  int size_;
  int own_;                   ///< in the communicator
  std::vector<int> members_;  ///< by number in the communicator: the number in the world
  sparsecollComm_t comm_;
  std::vector<sparsecollComm_t> old_;  ///< communicators to which residuals may still belong
  Death death_;
  uint64_t born_ = 0;  ///< the number of the last call that counts when the communicator was made
  uint64_t base_ = 0;  ///< the number of the last call before the epoch
  fault::ScheduleContext context_;
  std::unique_ptr<Epoch> epoch_;
  std::thread second_thread_;  ///< of a victim
  fault::SchedulingDelays delays_;
  Report report_;
  double deadline_ = kFirstDeadlineMs / 1000.0;
  std::string late_;  ///< the first function that took too long
  std::string why_;   ///< the last error of go_on()
};

}  // namespace sparsecoll::soak
