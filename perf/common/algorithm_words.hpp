// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <string>
#include <vector>

namespace sparsecoll::perf {

/// The value of --algo for Ok-Topk with reused thresholds.
inline constexpr const char* kReuse = "oktopk-reuse";
/// The values of --algo for the algorithms that need to know the nodes.
inline constexpr const char* kHierarchical = "hierarchical";
inline constexpr const char* kSharded = "sharded";
/// The value of --algo for Auto with allowReordered = 1.
inline constexpr const char* kReordered = "auto-reordered";
/// The value of --algo for gtopkAllreduce.
inline constexpr const char* kGtopk = "gtopk";
/// The value of --algo for sparseAlltoall.
inline constexpr const char* kAlltoall = "alltoall";

/// A value of --algo: an algorithm, and the configuration that it needs.
struct NamedAlgorithm {
  const char* word;
  sparsecollAlgo_t algorithm;
  sparsecollSelect_t selection = sparsecollSelectExact;
  int allow_reordered = 0;
};

/// Returns the library's algorithms for sparseAllreduce, and variants of them.
const std::vector<NamedAlgorithm>& named_algorithms();
/// Returns the values of --algo for sparseAllreduce: the library's algorithms, and the variants
/// kReuse and kReordered.
std::vector<std::string> sparse_algorithms();
/// Returns the value of --algo for an algorithm of the library.
std::string word_of(int algorithm);

}  // namespace sparsecoll::perf
