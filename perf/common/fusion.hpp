// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file Tensor fusion: how many bytes of gradients should go into one group of calls?

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// Counts from a file, or from the text itself where no such file exists: numbers separated by
/// commas or white space, "#" to the end of a line being a comment. Throws std::runtime_error for
/// anything that is not a count from 1 to 2^32 - 1.
std::vector<std::size_t> read_tensors(const std::string& file_or_list);

/// Where groups start: a group takes tensors in order while they fit in `bytes`, and one that is
/// larger goes alone.
std::vector<std::size_t> group_starts(std::span<const std::size_t> counts, std::size_t element,
                                      std::size_t bytes);

/// Reduces all tensors of options.tensors, a group for every so many bytes, and finds the size for
/// which that takes the least time: binary search over powers of two for where the time stops
/// falling, of which the fastest one measured is taken. For each algorithm and density. Returns the
/// exit status.
template <class T>
int search_fusion(const Options& options, Ranks& ranks, Storage& storage);

}  // namespace sparsecoll::perf
