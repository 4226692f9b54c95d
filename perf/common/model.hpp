// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/handles.hpp"

namespace sparsecoll::perf {

/// The arguments of Auto's cost model for one call.
struct Exchange {
  std::size_t n;
  std::size_t k;        ///< SPARSECOLL_ALL: the exact sum
  std::size_t entries;  ///< entries of all ranks
  std::size_t result;   ///< entries of the result
  std::size_t value_size;
};

/// Returns the time in seconds that the library's cost model predicts for an algorithm. It uses the
/// network that `comm`, whose algorithm is Auto, has measured. If `comm` has measured none, a small
/// call makes it do so. Returns nothing if the model does not know the algorithm, or for
/// Hierarchical if `comm` may not choose it. Collective.
std::optional<double> model_seconds(const std::string& algorithm, const Exchange& exchange,
                                    const Communicator& comm);

}  // namespace sparsecoll::perf
