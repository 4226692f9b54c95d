// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace sparsecoll::perf {

/// Returns the kinds of data of topk_perf. The first is the ordinary one, the others are
/// adversarial:
///  - random: heavy-tailed, like the data of the collectives;
///  - equal: every magnitude is the same, so that the whole selection is ties;
///  - sorted: magnitudes rise with the index, so that every entry beats all before it;
///  - hot: all large magnitudes are in one block of n/64;
///  - two-valued: two magnitudes, mixed; 1 of 1024 entries has the larger one.
std::vector<std::string> pattern_names();

/// Fills `out` with the vector of `rank`, of the kind `name`.
template <class T>
void fill_pattern(const std::string& name, int rank, const Options& options, std::span<T> out);

}  // namespace sparsecoll::perf
