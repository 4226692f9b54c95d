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

/// What goes in and out: --form.
enum class Form {
  kDense,   ///< dense vectors, selection included
  kSparse,  ///< entries, exchange alone; the result is the top-k of the sum
  kSum,     ///< entries, exchange alone; the result is every entry of the sum
  kOwners   ///< entries, which go to the owners of their indices
};

/// One row's work as one rank sees it.
template <class T>
struct Task {
  std::size_t n = 0;
  std::size_t k = 0;
  int ranks = 1;
  bool average = false;
  Form form = Form::kDense;
  bool feedback = false;
  bool rounded = false;      ///< the library's values travel in bfloat16
  std::span<const T> dense;  ///< this rank's vector; but for kDense only its entries
  const Entries<Wide<T>>* entries = nullptr;   ///< this rank's top-k: what goes in, but for kDense
  const Entries<Wide<T>>* by_shard = nullptr;  ///< its selection by shards, for who works with that
  std::vector<std::size_t> bounds;             ///< kOwners: rank r owns [bounds[r], bounds[r + 1])
};

/// What the last call did on this rank.
struct CallStats {
  std::size_t selected = 0;
  std::size_t result = 0;
  double wire_bytes = 0;       ///< sent by this rank
  std::size_t messages = 0;    ///< the same; 0 where they were not counted
  bool wire_is_model = false;  ///< computed, not counted
  double select_seconds = 0;
  double pack_seconds = 0;      ///< 0 where it is not told apart
  double exchange_seconds = 0;  ///< waiting for messages
  double reduce_seconds = 0;
  std::string ran;  ///< the algorithm, where it can differ from the one asked for
};

/// Something that reduces the ranks' vectors: an algorithm of the library or a baseline.
template <class T>
class Runner {
 public:
  virtual ~Runner() = default;
  /// Before every call, outside the clock.
  virtual void prepare() {}
  virtual void call() = 0;
  /// Forgets earlier calls: the residual becomes zeros.
  virtual void reset() {}
  virtual CallStats stats() const = 0;
  /// Wrong values that the last call, the first one after reset(), left on this rank.
  virtual std::size_t wrong(const Checker<T>& checker) const = 0;
};

}  // namespace sparsecoll::perf
