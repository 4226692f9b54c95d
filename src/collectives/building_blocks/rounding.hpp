// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/interface/env.hpp"

namespace sparsecoll {

/// Values as they are sent, and the rounding error of each.
struct Rounded {
  SparseSpan values;
  SparseSpan lost;  ///< has no values if nothing was rounded
};

/// Rounds every value for the wire if env.rounds(); otherwise returns `in` itself. A rank that
/// rounds values computes with the rounded ones from then on, and puts `lost` back into its
/// residual.
Rounded round_for_wire(Env& env, const SparseSpan& in);

}  // namespace sparsecoll
