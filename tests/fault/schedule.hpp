// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fault/random_call.hpp"
#include "transport/local.hpp"

namespace sparsecoll::fault {

/// The fault that a schedule injects.
enum class FaultKind {
  kNone,
  kKill,          ///< the victim fails when it sends a message; later messages are lost
  kCorrupt,       ///< a byte of one of the victim's messages is inverted
  kDrop,          ///< one of the victim's messages is lost
  kAbort,         ///< another thread aborts the victim's communicator
  kDestroy,       ///< the victim destroys its communicator while the others make more calls
  kFewerCalls,    ///< the victim makes fewer calls than the others
  kShortDeadline  ///< no fault, but the deadline is short
};

/// A call for which one rank passes a bad argument or makes another call.
struct Deviation {
  size_t call;
  int rank;
  BadArgument bad_argument;           ///< what the rank passes, or kNone
  std::unique_ptr<RandomCall> other;  ///< what the rank calls instead, or null
};

/// Which queued calls a rank waits for: each before it makes the next, all after the last, or none.
enum class Waiting { kEach, kEnd, kNever };

/// One test case: ranks, configuration, calls and faults. The seed determines all of it.
class Schedule {
 public:
  explicit Schedule(uint64_t seed);

  uint64_t seed() const { return seed_; }
  int P() const { return context_.P; }
  const sparsecollConfig_t& config() const { return context_.config; }
  FaultKind fault_kind() const { return fault_kind_; }
  int victim() const { return victim_; }
  Waiting waiting() const { return waiting_; }
  size_t calls() const { return calls_.size(); }
  const std::vector<std::unique_ptr<Tensor>>& tensors() const { return context_.tensors; }
  bool queued() const { return context_.config.blocking == 0; }

  /// Returns how many of the calls the rank makes.
  size_t calls_of(int rank) const;
  RandomCall& call(size_t number, int rank) const;
  BadArgument bad_argument(size_t number, int rank) const;
  bool refused(size_t number) const;
  /// Returns the error that the refused call returns on `rank`.
  sparsecollResult_t refusal(int rank) const;

  bool has_short_deadline() const { return context_.config.timeoutMs <= kMaxShortDeadlineMs; }
  /// Returns whether a call may fail with sparsecollTimeout.
  bool may_time_out() const { return has_short_deadline(); }
  /// Returns whether a call may fail because of another rank.
  bool may_see_remote_error() const { return fault_kind_ != FaultKind::kNone; }

  /// Returns the faults of all messages. Calls `abort` to abort the communicator of the victim.
  FaultPlan plan(const std::function<void()>& abort) const;
  /// Returns whether the communicator of the victim is aborted before all calls.
  bool aborts_first() const {
    return fault_kind_ == FaultKind::kAbort && (P() == 1 || message_ == 0);
  }

  /// Returns whether a call that succeeds on the victim must succeed on all ranks. This holds if
  /// the only fault is that the communicator of the victim is aborted or destroyed and no deadline
  /// is short: all messages of the call were delivered then.
  bool all_complete_with_victim() const {
    return !has_short_deadline() &&
           (fault_kind_ == FaultKind::kAbort || fault_kind_ == FaultKind::kDestroy) &&
           waiting_ == Waiting::kEach;
  }

  std::string describe() const;

 private:
  static constexpr int kMaxShortDeadlineMs = 50;

  void plan_deviation(Random& random, size_t calls);
  void plan_deadline(Random& random);

  uint64_t seed_;
  ScheduleContext context_;
  FaultKind fault_kind_ = FaultKind::kNone;
  bool delays_ = false;
  int victim_ = 0;
  size_t message_ = 0;
  size_t byte_ = 0;
  size_t first_missing_call_ = 0;  ///< the first call that the victim does not make
  Waiting waiting_ = Waiting::kEach;
  std::optional<Deviation> deviation_;
  std::optional<ScheduleContext> deviation_context_;  ///< for the other call of a deviation
  std::vector<std::unique_ptr<RandomCall>> calls_;
};

}  // namespace sparsecoll::fault
