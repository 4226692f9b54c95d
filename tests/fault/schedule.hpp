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

/// What goes wrong between the ranks.
enum class Trouble {
  kNone,
  kKill,     ///< the victim's messages vanish from one of them on, and it fails itself
  kDamage,   ///< a byte of one of its messages is inverted
  kLoss,     ///< one of its messages vanishes
  kAbort,    ///< another thread aborts its communicator
  kLeave,    ///< it destroys its communicator while the others make more calls
  kAbsence,  ///< it makes fewer calls than the others
  kHurry     ///< nothing, but the deadline is short
};

/// A call in which one rank does something else than the others.
struct Deviation {
  size_t call;
  int rank;
  Flaw flaw;                          ///< its arguments are bad,
  std::unique_ptr<RandomCall> other;  ///< or it makes this call instead
};

/// When a rank with blocking = 0 waits for what it queued.
enum class Waiting { kEach, kEnd, kNever };

/// Everything about one case, from its seed alone.
class Schedule {
 public:
  explicit Schedule(uint64_t seed);

  uint64_t seed() const { return seed_; }
  int P() const { return world_.P; }
  const sparsecollConfig_t& config() const { return world_.config; }
  Trouble trouble() const { return trouble_; }
  int victim() const { return victim_; }
  Waiting waiting() const { return waiting_; }
  size_t calls() const { return calls_.size(); }
  const std::vector<std::unique_ptr<Tensor>>& tensors() const { return world_.tensors; }
  bool queued() const { return world_.config.blocking == 0; }

  /// How many of the calls the rank makes.
  size_t calls_of(int rank) const;
  RandomCall& call(size_t number, int rank) const;
  Flaw flaw(size_t number, int rank) const;
  bool refused(size_t number) const;
  /// What a rank is told when it is.
  sparsecollResult_t refusal(int rank) const;

  bool hurried() const { return world_.config.timeoutMs <= kLongestHurry; }
  /// What the deadline is for: whether a rank may give up waiting.
  bool may_time_out() const { return hurried(); }
  /// Whether a rank may hear of, or notice, a failure of another.
  bool may_hear_of_failure() const { return trouble_ != Trouble::kNone; }

  /// `abort` aborts the victim's communicator.
  FaultPlan plan(const std::function<void()>& abort) const;
  /// Whether the abort comes before all calls.
  bool aborts_first() const { return trouble_ == Trouble::kAbort && (P() == 1 || message_ == 0); }

  /// Whether only what the victim does to its own communicator goes wrong, and nobody is in a
  /// hurry: then a call that the victim ended well is one that all ranks end well, since everything
  /// that it had to send had arrived.
  bool victim_leads() const {
    return !hurried() && (trouble_ == Trouble::kAbort || trouble_ == Trouble::kLeave) &&
           waiting_ == Waiting::kEach;
  }

  std::string describe() const;

 private:
  static constexpr int kLongestHurry = 50;

  void plan_deviation(Dice& dice, size_t calls);
  void plan_deadline(Dice& dice);

  uint64_t seed_;
  World world_;
  Trouble trouble_ = Trouble::kNone;
  bool delays_ = false;
  int victim_ = 0;
  size_t message_ = 0;
  size_t byte_ = 0;
  size_t from_ = 0;  ///< the first call that an absent victim does not make
  Waiting waiting_ = Waiting::kEach;
  std::optional<Deviation> deviation_;
  std::optional<World> others_;  ///< of the call that a deviation makes
  std::vector<std::unique_ptr<RandomCall>> calls_;
};

}  // namespace sparsecoll::fault
