// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sparsecoll {

enum class Verb : uint64_t {
  init = 1,
  destroy = 2,
  sparse_allreduce = 3,
  gtopk_allreduce = 4,
  sparse_allreducev = 5,
  gtopk_allreducev = 6,
  sparse_alltoall = 7,
  sparse_reduce_scatter = 8,
  push_sum_create = 9,
  push_sum_step = 10,
  push_sum_drain = 11,
  comm_split = 12,
  group = 13,
  comm_measure = 14,
  push_sum_move = 15,
  residual_move = 16,
};

/// The verb of a call, and the arguments on which the ranks must agree, by position. Abandon
/// notices carry it; every header carries its hash.
struct Descriptor {
  static constexpr size_t kArguments = 17;

  uint64_t verb = 0;
  std::array<uint64_t, kArguments> argument{};

  uint64_t hash() const;
  bool operator==(const Descriptor&) const = default;
};

/// The arguments of a call that must be the same on all ranks.
struct CallIdentity {
  CallIdentity(const Descriptor& call, std::span<const Descriptor> calls = {})
      : descriptor(call), members(calls) {}

  Descriptor descriptor;
  std::span<const Descriptor> members;  ///< the verbs of a group, in order
};

// Indices of Descriptor::argument.

/// Arguments of the collectives. The first bounds of regions have an argument each; kAllBounds is a
/// hash of all bounds. kCacheHash is the hash of the cache of the shape
/// (collectives/interface/shape_cache.hpp).
enum VerbArgument : size_t {
  kCount,
  kK,
  kDataType,
  kOp,
  kIndexType,
  kBlockSize,
  kBounds,
  kAllBounds = 12,
  kCacheHash = 13,
};
inline constexpr size_t kNamedBounds = kAllBounds - kBounds;
enum GroupArgument : size_t { kCalls, kCallsHash };
enum PushSumArgument : size_t {
  kGraph = kDataType + 1,
  kPeers,
  kMaxDelay,
  kMixing,
  kState,
  kStep,
};
enum InitArgument : size_t {
  kVersion,
  kBlocking,
  kTimeoutMs,
  kAlgorithm,
  kSelection,
  kResidualRule,
  kWire,
  kRepartitionInterval,
  kThresholdInterval,
  kAllowReordered,
  kRanksPerNode,
  kCheck,
  kAllowSharded,
  kTopology,
  kDenseBelow,
  kExpectedRanks,
  kNonFinite,
};

/// Returns a signed argument, or an enumerator, as an element of Descriptor::argument.
constexpr uint64_t word_of(int value) { return static_cast<uint64_t>(int64_t{value}); }

/// Returns the name of the verb's C function.
const char* verb_name(uint64_t verb);

/// Returns the first difference in words, such as "k: this rank passed 10, rank 3 passed 11"; empty
/// if there is none.
std::string difference(const Descriptor& mine, const Descriptor& theirs, int their_rank);

/// Returns the name and the value of each argument, in the words of difference().
std::vector<std::pair<std::string, std::string>> arguments_in_words(const Descriptor& descriptor);

}  // namespace sparsecoll
