// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// sparsecollSelectReuse, computed call by call from its documented rule.

#include "oracle/oracle.hpp"
#include "oracle/wire.hpp"

namespace sparsecoll::oracle {

/// The calls of one shape: k and the interval are constant, and thresholds pass from call to call.
template <class T>
class ReuseReplay {
 public:
  /// With a wire that rounds, every call computes new regions.
  ReuseReplay(std::size_t P, std::uint64_t k, std::uint64_t interval, Wire wire = Wire::kNative)
      : k_(k), interval_(interval), wire_(wire), own_(P, 0) {}

  DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, Op op);
  SparseOutcome<T> sparse_allreducev(const SparseInputs<T>& in, Op op);

  /// Number of calls in which a threshold selected the entries, and in which it was too far off or
  /// missing.
  std::size_t reused() const { return reused_; }
  std::size_t fell_back() const { return fell_back_; }

 private:
  /// Returns the entries that the rule selects, `rounded` to T if they are a rank's own. Moves the
  /// threshold; 0: none.
  Sparse<Wide<T>> pick(const Sparse<Wide<T>>& x, std::uint64_t& threshold, bool rounded);

  /// Returns what is delivered of the sent entries. Adds the rest to the residuals, which hold what
  /// was not sent.
  Sparse<Wide<T>> reduce(PerRank<Sparse<Wide<T>>> sends, PerRank<std::vector<Wide<T>>>& residuals,
                         std::uint64_t n);

  std::uint64_t k_;
  std::uint64_t interval_;
  Wire wire_;
  std::uint64_t calls_ = 0;
  std::uint64_t global_ = 0;
  PerRank<std::uint64_t> own_;
  std::size_t reused_ = 0;
  std::size_t fell_back_ = 0;
};

extern template class ReuseReplay<float>;
extern template class ReuseReplay<double>;
extern template class ReuseReplay<Float16>;
extern template class ReuseReplay<Bfloat16>;

}  // namespace sparsecoll::oracle
