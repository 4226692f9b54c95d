// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf {

/// Times of simpler operations on the same data in the same run, for comparison with the selection.
struct SelectionBaselines {
  Times read;         ///< one pass that sums magnitudes
  Times add;          ///< r += g in place, the least that error feedback costs
  Times copy;         ///< copy of the vector
  Times nth_element;  ///< magnitudes to a scratch vector, then std::nth_element
};

/// Fills `read`, `add` and `copy`. Collective.
template <class T>
void measure_passes(Ranks& ranks, const Options& options, std::span<const T> x,
                    SelectionBaselines& out);

/// Fills `nth_element` for the k-th largest value. It makes a quarter of the calls, because it is
/// much slower than the rest. Collective.
template <class T>
void measure_nth_element(Ranks& ranks, const Options& options, std::span<const T> x, std::size_t k,
                         SelectionBaselines& out);

}  // namespace sparsecoll::perf
