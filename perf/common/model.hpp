// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/handles.hpp"

namespace sparsecoll::perf {

/// An exchange as Auto sees it.
struct Exchange {
  std::size_t n;
  std::size_t k;        ///< SPARSECOLL_ALL: the exact sum
  std::size_t entries;  ///< of all ranks
  std::size_t result;   ///< in the result
  std::size_t value_size;
};

/// Seconds that the library's model gives an algorithm for it, by what `comm`, whose algorithm is
/// Auto, has measured; measures first where it has not. Hierarchical has one where `comm` may take
/// it. Nothing for what the model does not know.
/// Collective.
std::optional<double> model_seconds(const std::string& algorithm, const Exchange& exchange,
                                    const Communicator& comm);

}  // namespace sparsecoll::perf
