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

/// Reads the counts of tensors from a file, or from the text itself if no such file exists. Numbers
/// are separated by commas or white space; "#" begins a comment. Throws std::runtime_error if a
/// word is not a count from 1 to 2^32 - 1.
std::vector<std::size_t> read_tensors(const std::string& file_or_list);

/// Returns the index of the first tensor of each group. A group takes tensors in order while they
/// fit in `bytes`; a tensor that is larger is a group of its own. `element`: bytes of a value.
std::vector<std::size_t> group_starts(std::span<const std::size_t> counts, std::size_t element,
                                      std::size_t bytes);

/// Finds the size of groups, in bytes, for which the reduction of all tensors of options.tensors
/// takes the least time, for each algorithm and density. A binary search over powers of two looks
/// for the size at which the time stops falling; the result is the fastest of all sizes that it
/// measured. Collective. Returns the exit status.
template <class T>
int search_fusion(const Options& options, Ranks& ranks, Storage& storage);

}  // namespace sparsecoll::perf
