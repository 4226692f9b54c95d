// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace sparsecoll::perf {

/// Kinds of data for the local kernel. The first is the ordinary one, the others are adversarial:
///  - random: heavy-tailed, as the collectives get;
///  - equal: every magnitude the same, so that all of the selection is ties;
///  - sorted: magnitudes rise with the index, so that every entry beats all before it;
///  - hot: all large magnitudes in one block of n/64;
///  - two-valued: two magnitudes, mixed, the larger one in 1 of 1024 entries.
std::vector<std::string> pattern_names();

/// The vector of `rank`, of the kind `name`.
template <class T>
void fill_pattern(const std::string& name, int rank, const Options& options, std::span<T> out);

}  // namespace sparsecoll::perf
