// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/checker.hpp"
#include "common/oracle.hpp"

namespace sparsecoll::perf {

/// The form of the input and the result: --form.
enum class Form {
  kDense,   ///< dense vectors; the call selects
  kSparse,  ///< entries, without a selection; the result is the top-k of the sum
  kSum,     ///< entries, without a selection; the result is the whole sum
  kOwners   ///< entries, each of which is sent to the rank that owns its index
};

/// The input of one call on one rank. One row of the table measures one task on all ranks.
template <class T>
struct Task {
  std::size_t n = 0;
  std::size_t k = 0;
  int ranks = 1;
  bool average = false;
  Form form = Form::kDense;
  bool feedback = false;
  bool rounded = false;      ///< the library sends rounded values
  bool scaled = false;       ///< they have 8 bits and a scale, else they are in bfloat16
  std::span<const T> dense;  ///< this rank's vector; unless kDense, zeros except for its entries
  const Entries<Wide<T>>* entries = nullptr;   ///< this rank's top-k, the input unless kDense
  const Entries<Wide<T>>* by_shard = nullptr;  ///< this rank's selection by shards; null if unused
  std::vector<int> nodes;                      ///< node of each rank, for Sharded; empty if unused
  std::vector<std::size_t> bounds;             ///< kOwners: rank r owns [bounds[r], bounds[r + 1])
};

/// Statistics of the last call on this rank.
struct CallStats {
  std::size_t selected = 0;
  std::size_t result = 0;
  double wire_bytes = 0;       ///< bytes sent by this rank
  std::size_t messages = 0;    ///< messages sent by this rank; 0 if they were not counted
  bool wire_is_model = false;  ///< wire_bytes is computed, not counted
  double select_seconds = 0;
  double pack_seconds = 0;      ///< 0 if it was not measured by itself
  double exchange_seconds = 0;  ///< time spent waiting for messages
  double reduce_seconds = 0;
  std::string ran;  ///< the algorithm that ran; empty if it is always the one asked for
};

/// Runs one task: by an algorithm of the library, or by a baseline.
template <class T>
class Runner {
 public:
  virtual ~Runner() = default;
  /// Prepares the next call. It precedes every call and is not timed.
  virtual void prepare() {}
  virtual void call() = 0;
  /// Sets the residual to zeros and goes back to the first gradient.
  virtual void reset() {}
  virtual CallStats stats() const = 0;
  /// Returns the number of wrong values of the last call on this rank. That call must be the first
  /// one after reset().
  virtual std::size_t wrong(const Checker<T>& checker) const = 0;
};

}  // namespace sparsecoll::perf
