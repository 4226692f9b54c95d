// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sparsecoll::perf {

/// Returns the word that was probably meant: the one that fewest insertions, deletions,
/// replacements and exchanges of neighbours make of `given`, if these are few for its length; else
/// "".
std::string nearest_word(const std::string& given, const std::vector<std::string>& words);

/// Returns "there is no option --desity; did you mean --density?" A value behind = is ignored.
std::string unknown_option(const std::string& given, const std::vector<std::string>& options);

}  // namespace sparsecoll::perf
