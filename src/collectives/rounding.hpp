// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/env.hpp"

namespace sparsecoll {

/// Values as they travel, and what rounding removed from each of them.
struct Rounded {
  SparseSpan values;
  SparseSpan lost;  ///< without values where nothing was rounded
};

/// Returns `in` with every value rounded to bfloat16 where env.rounds(), and `in` itself elsewhere.
/// A rank that rounds values also computes with the rounded ones, and accounts for what is lost.
Rounded round_for_wire(Env& env, const SparseSpan& in);

}  // namespace sparsecoll
