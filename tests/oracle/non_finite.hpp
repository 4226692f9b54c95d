// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// sparsecollNonFiniteSkip: whether acc of any rank has a NaN or an infinity.

#include <algorithm>
#include <cmath>

#include "oracle/oracle.hpp"
#include "oracle/sharded.hpp"

namespace sparsecoll::oracle {

/// Returns whether acc = gradient + residual of any rank has a value that is not finite.
template <class T>
bool any_not_finite(const DenseInputs<T>& in) {
  using A = Wide<T>;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    for (std::size_t i = 0; i < in.sends[r].size(); ++i) {
      const A gradient = static_cast<A>(in.sends[r][i]);
      const A acc = in.residuals.empty() ? gradient : gradient + in.residuals[r][i];
      if (!std::isfinite(acc)) return true;
    }
  }
  return false;
}

/// Returns the same for Sharded, where acc is the sum of a node's gradients in rank order, plus the
/// residual of the owner. `nodes`: the number of each rank's node.
template <class T>
bool any_not_finite(const DenseInputs<T>& in, const std::vector<int>& nodes) {
  using A = Wide<T>;
  const std::size_t P = in.sends.size(), n = in.sends[0].size();
  const auto held = shards_of(n, P, nodes);
  for (std::size_t owner = 0; owner < P; ++owner) {
    for (std::size_t i = held[owner].begin; i < held[owner].end; ++i) {
      bool first = true;
      A acc = 0;
      for (std::size_t r = 0; r < P; ++r) {
        if (nodes[r] != nodes[owner]) continue;
        const A gradient = static_cast<A>(in.sends[r][i]);
        acc = first ? gradient : acc + gradient;
        first = false;
      }
      if (!in.residuals.empty()) acc = acc + in.residuals[owner][i];
      if (!std::isfinite(acc)) return true;
    }
  }
  return false;
}

/// Returns whether an entry of any rank is not finite.
template <class T>
bool any_not_finite(const SparseInputs<T>& in) {
  const auto bad = [](const Entry<T>& entry) {
    return !std::isfinite(static_cast<Wide<T>>(entry.value));
  };
  return std::any_of(in.sends.begin(), in.sends.end(), [&](const Sparse<T>& send) {
    return std::any_of(send.begin(), send.end(), bad);
  });
}

}  // namespace sparsecoll::oracle
