// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Generates dense test data. Every value is a pure function of (kind, shape, seed, rank, index),
// the same with every compiler and on every machine.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sparsecoll::test {

enum class Kind {
  kIntegers,       ///< -8 .. 8: many ties and zeros
  kWideIntegers,   ///< +-100,000: few ties
  kHeavyTail,      ///< fractions of very different magnitude
  kAllEqual,       ///< 3 everywhere, on every rank
  kAllZero,        ///< +0 everywhere
  kOneNonZero,     ///< one value on one rank
  kOneRegion,      ///< non-zero in the last eighth only
  kHotBlock,       ///< 64 neighbours far above a faint background
  kCancelling,     ///< ranks 2j and 2j + 1 cancel exactly at most indices
  kDisjoint,       ///< index i is non-zero on rank i mod P only
  kIdentical,      ///< the same vector on every rank
  kSkewed,         ///< the values of one rank are a million times larger than the others'
  kNotFinite,      ///< NaN, Inf and -Inf on one rank
  kInfinityClash,  ///< Inf against -Inf and NaNs of every sort, on several ranks
  kSignedZeros,    ///< mostly -0 and +0
  kDenormals,      ///< small multiples of the smallest denormal, most of them negative
  kHuge            ///< partial sums overflow
};

inline constexpr Kind kAllKinds[] = {Kind::kIntegers,  Kind::kWideIntegers,  Kind::kHeavyTail,
                                     Kind::kAllEqual,  Kind::kAllZero,       Kind::kOneNonZero,
                                     Kind::kOneRegion, Kind::kHotBlock,      Kind::kCancelling,
                                     Kind::kDisjoint,  Kind::kIdentical,     Kind::kSkewed,
                                     Kind::kNotFinite, Kind::kInfinityClash, Kind::kSignedZeros,
                                     Kind::kDenormals, Kind::kHuge};

/// The kinds with integers so small that every sum of 50 calls over 16 ranks is exact in
/// float.
inline constexpr Kind kIntegerKinds[] = {Kind::kIntegers,  Kind::kAllEqual,   Kind::kOneNonZero,
                                         Kind::kOneRegion, Kind::kCancelling, Kind::kDisjoint,
                                         Kind::kIdentical};

const char* name_of(Kind kind);

/// Returns deterministic noise from a seed and two coordinates (splitmix64's finaliser).
std::uint64_t noise(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0);

/// Returns the vector of one rank, of float, double or a 16-bit type.
template <class T>
std::vector<T> make_data(Kind kind, std::size_t n, int rank, int P, std::uint64_t seed);

/// Returns the vectors of all ranks.
template <class T>
std::vector<std::vector<T>> make_data_of_all(Kind kind, std::size_t n, int P, std::uint64_t seed);

}  // namespace sparsecoll::test
