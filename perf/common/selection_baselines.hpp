// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf {

/// What the local selection is measured against, on the same data in the same run.
struct SelectionBaselines {
  Times read;         ///< one pass that sums magnitudes
  Times add;          ///< r += g in place: what plain error feedback costs
  Times copy;         ///< one vector to another
  Times nth_element;  ///< magnitudes to a scratch vector, then std::nth_element
};

/// Fills `read`, `add` and `copy`. Collective.
template <class T>
void measure_passes(Ranks& ranks, const Options& options, std::span<const T> x,
                    SelectionBaselines& out);

/// Fills `nth_element` for the k-th largest, over a quarter of the calls: it is far slower than the
/// rest. Collective.
template <class T>
void measure_nth_element(Ranks& ranks, const Options& options, std::span<const T> x, std::size_t k,
                         SelectionBaselines& out);

}  // namespace sparsecoll::perf
