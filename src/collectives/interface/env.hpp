// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "calls/call.hpp"
#include "core/arena.hpp"
#include "core/stats.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// The type in which values are sent. The numbers are those of sparsecollWire_t in the C API.
enum class Wire : int { native = 0, bf16 = 1, int8 = 2 };

/// The objects with which an algorithm works: the call, through which it reaches its peers, the
/// kernels of the backend, and an arena for host workspace that lasts until the call ends.
struct Env {
  Call& call;
  Kernels& kernels;
  Arena& arena;
  Stats& stats;
  /// The number of malformed messages received, in the backend's memory. The verb reads it before
  /// the commit.
  uint64_t* fault;
  Wire wire = Wire::native;
  /// The seconds that a byte takes between ranks of a node, as measured.
  std::optional<double> node_beta = {};

  /// Returns whether values are rounded before they are sent. Integers never are.
  bool rounds() const { return wire != Wire::native && !is_integer(kernels.data_type()); }
  /// Returns the precision of sums that one rank has rounded, if it does.
  Precision rounded_precision() const {
    if (!rounds()) return Precision::accumulated;
    return wire == Wire::bf16 ? Precision::bfloat16 : Precision::int8;
  }
  /// Returns the precision of such sums of several ranks, one after another: a scale of one rank
  /// does not fit the values of another.
  Precision joined_precision() const {
    const Precision precision = rounded_precision();
    return precision == Precision::int8 ? Precision::accumulated : precision;
  }
};

/// Returns host workspace for a message of at most `bytes`, with headroom in front of it.
inline std::byte* packet_memory(Env& env, size_t bytes) {
  return env.arena.take<std::byte>(kHeadroom + bytes) + kHeadroom;
}

/// Returns a vector without entries.
inline SparseBuffer empty_vector(Env& env) { return env.kernels.sparse(0); }

}  // namespace sparsecoll
