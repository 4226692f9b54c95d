// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/stats.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// The arguments on which the ranks agree when they create a push-sum state.
struct PushSumShape {
  uint64_t id = 0;  ///< number of the call that created the state
  size_t count = 0;
  DataType type = DataType::float32;
  int max_delay = 0;  ///< tau, in steps; kNeverWaits: a step waits for no message
  size_t k = 0;       ///< entries of a compressed message; 0: messages are not compressed
  double mixing = 1;  ///< gamma of compressed gossip

  /// Returns the bytes of a vector of `count` values in the accumulation type, as a copy of
  /// compressed gossip has them.
  size_t copy_bytes() const { return count * size_of(accumulation(type)); }
};
inline constexpr int kNeverWaits = -1;

/// The objects with which one step or drain works.
struct GossipContext {
  Kernels& kernels;  ///< kernels for the backend and the type of the tensors
  Memory& memory;    ///< memory of that backend, for data that outlive the call
  Stats& stats;
};

/// The tensors of a step or drain, on one backend.
struct Tensors {
  void* x;         ///< the numerator; read and written
  void* estimate;  ///< x / w; written. Null: not wanted
};

/// The changes of x and w in one step or drain. They are applied when all messages have been
/// received.
struct StepUpdate {
  std::vector<double> shares;             ///< p_ji of every part of x that is sent uncompressed
  std::vector<const void*> received;      ///< the uncompressed parts that are received
  void* net = nullptr;                    ///< sum of the changes by compressed messages; null: none
  double weight = 1;                      ///< w after the update
  const double* device_weight = nullptr;  ///< w after the update, on the device; null: `weight`
};

}  // namespace sparsecoll
