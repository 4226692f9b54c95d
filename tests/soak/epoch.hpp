// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fault/random_call.hpp"
#include "soak/options.hpp"

namespace sparsecoll::soak {

/// How a rank fails.
enum class FaultKind {
  kNone,
  kKill,        ///< it dies within a call
  kKillSaving,  ///< it dies while it saves its residual again and again
  kLate,        ///< it comes after the deadline
  kAbort        ///< another of its threads aborts the communicator
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  size_t call = 0;        ///< at which the rank fails
  int victim = 0;         ///< its number in the communicator
  size_t tensor = 0;      ///< whose residual it saves
  int delay_us = 0;       ///< from the beginning of the call to its death, or to the abort
  bool silently = false;  ///< ranks that are threads: it leaves before the call instead
  bool known = true;      ///< the others pass its number to the shrink

  bool kills() const { return kind == FaultKind::kKill || kind == FaultKind::kKillSaving; }
};

/// A call for which one rank passes a bad argument.
struct Deviation {
  size_t call;
  int rank;
  fault::BadArgument bad_argument;
};

/// The plan of the calls on one communicator, from the first one to the shrink that ends it.
/// The seed, the tensors and the number of ranks determine everything, on all ranks alike.
class Epoch {
 public:
  /// Plans the calls and sets the states of the tensors after each of them.
  Epoch(uint64_t seed, fault::ScheduleContext& context, const Options& options);

  size_t calls() const { return calls_.size(); }
  fault::RandomCall& call(size_t number) const { return *calls_[number]; }
  const Fault& fault() const { return fault_; }
  bool refused(size_t number) const { return deviation_ && deviation_->call == number; }
  fault::BadArgument bad_argument(size_t number, int rank) const;
  /// Returns the error of a refused call on `rank`.
  sparsecollResult_t refusal(int rank) const;
  /// Returns whether the fault may make this call fail. A rank may still be in a call when another
  /// one begins the next.
  bool may_fail(size_t number) const {
    return fault_.kind != FaultKind::kNone && number + 1 >= fault_.call;
  }
  /// Returns the number of calls that are complete when that many collective calls are committed.
  size_t calls_of(uint64_t committed) const;
  std::string describe() const;

 private:
  void plan_fault(fault::Random& random, const fault::ScheduleContext& context,
                  const Options& options, size_t calls);

  Fault fault_;
  std::optional<Deviation> deviation_;
  std::vector<std::unique_ptr<fault::RandomCall>> calls_;
};

/// The deadline with which the ranks meet. A busy machine may start them one after the other.
inline constexpr int kFirstDeadlineMs = 60000;
/// Returns the configuration of the communicator of all ranks, which shrinks before the first call.
sparsecollConfig_t first_config(const Options& options);
/// Returns the configuration of the communicator that a shrink makes.
sparsecollConfig_t config_of_epoch(uint64_t seed, const Options& options);

}  // namespace sparsecoll::soak
