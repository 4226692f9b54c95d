// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The format of inputs, which fuzz_state.cpp and its corpus share.

#include <sparsecoll/sparsecoll.h>

#include <string>
#include <vector>

namespace sparsecoll::unit {

// Flags of an input.
inline constexpr uint8_t kStateGossip = 1;      ///< a push-sum state; otherwise a residual
inline constexpr uint8_t kStateRaw = 2;         ///< a complete file
inline constexpr uint8_t kStateReuse = 4;       ///< thresholds are reused
inline constexpr uint8_t kStateCompressed = 8;  ///< compressed gossip
inline constexpr uint8_t kStateDelay = 16;      ///< gossip with maxDelay = 1

/// Names of sections; an input has their index.
inline constexpr const char* kStateSections[] = {"tensor",     "values", "warm",   "shape",
                                                 "progress",   "sent 0", "sent 1", "received 0",
                                                 "received 1", "another"};

/// Two ranks, each with a residual or a push-sum state of 24 values.
class StatePair {
 public:
  explicit StatePair(uint8_t flags);
  ~StatePair();
  StatePair(const StatePair&) = delete;
  StatePair& operator=(const StatePair&) = delete;

  sparsecollComm_t comm(int rank) const { return comms_[rank]; }
  sparsecollResult_t load(int rank, const std::string& path) const;
  /// Loads the bytes of a file from memory.
  sparsecollResult_t load_from(int rank, const std::string& bytes) const;
  sparsecollResult_t save(int rank, const std::string& path) const;
  /// Makes a few calls with the residual.
  sparsecollResult_t reduce(int rank) const;
  /// Makes steps and drains.
  sparsecollResult_t gossip(int rank) const;

 private:
  bool is_push_sum() const { return flags_ & kStateGossip; }

  uint8_t flags_;
  sparsecollComm_t comms_[2] = {nullptr, nullptr};
  sparsecollResidual_t residuals_[2] = {nullptr, nullptr};
  sparsecollPushSum_t states_[2] = {nullptr, nullptr};
};

}  // namespace sparsecoll::unit
