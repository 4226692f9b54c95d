// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares sparseAlltoall and sparseReduceScatter with their oracles, case by case. Every rank
// computes the oracle's answer for itself, so that ranks may be threads or processes.

#include <cstdint>
#include <string>
#include <vector>

#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::test {

/// The assignment of indices to ranks.
enum class BoundsKind {
  kNull,      ///< NULL
  kRandom,    ///< regions of very different lengths
  kEmpty,     ///< every second region is empty
  kAllFirst,  ///< rank 0 owns everything
  kAllLast    ///< the last rank owns everything
};

inline constexpr BoundsKind kAllBoundsKinds[] = {BoundsKind::kNull, BoundsKind::kRandom,
                                                 BoundsKind::kEmpty, BoundsKind::kAllFirst,
                                                 BoundsKind::kAllLast};

const char* name_of(BoundsKind kind);

/// Returns P + 1 bounds; for kNull the bounds that NULL means.
std::vector<std::size_t> make_bounds(BoundsKind kind, std::uint64_t count, int P,
                                     std::uint64_t seed);

/// Returns bounds that agree with Sharded's shards: each region is a shard of the first node, or
/// empty. For `nodes` see oracle::ShardedCall.
std::vector<std::size_t> bounds_on_first_node(std::uint64_t count, std::size_t P,
                                              const std::vector<int>& nodes);

struct AlltoallCase {
  std::uint64_t seed = 1;
  std::uint64_t count = 0;
  SparseKind kind = SparseKind::kRandom;
  BoundsKind bounds = BoundsKind::kNull;
  sparsecollDataType_t type = sparsecollFloat32;
  int index_type = sparsecollIndex32;
  bool with_counts = true;  ///< pass recvcounts
  bool too_small = false;   ///< every second rank has too little room and fetches
  std::size_t block = 1;    ///< above 1: vectors of `count` blocks of so many values
};

struct ReduceScatterCase {
  std::uint64_t seed = 1;
  std::size_t n = 0;
  std::size_t k = 0;
  Kind kind = Kind::kIntegers;
  BoundsKind bounds = BoundsKind::kNull;
  oracle::Op op = oracle::Op::kSum;
  sparsecollDataType_t type = sparsecollFloat32;
  int index_type = sparsecollIndex32;
  bool feedback = false;
  bool too_small = false;
  int calls = 1;
  int wire = sparsecollWireNative;  ///< wire format of the communicator
  std::size_t block = 1;            ///< above 1: n blocks of so many values
};

/// Runs the case on one rank. Returns "" or the difference.
std::string join_case(sparsecollComm_t comm, const AlltoallCase& c);
std::string join_case(sparsecollComm_t comm, const ReduceScatterCase& c);

/// Returns cases with all kinds of data and bounds; lengths, types and the rest vary. Keeps one
/// case in `thinning`.
std::vector<AlltoallCase> alltoall_cases_of(int P, std::uint64_t thinning);
std::vector<ReduceScatterCase> reduce_scatter_cases_of(int P, std::uint64_t thinning);

}  // namespace sparsecoll::test
