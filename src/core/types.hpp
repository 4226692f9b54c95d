// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sparsecoll {

/// Types of values and indices, with the numbers of the C API.
enum class DataType : int { float32 = 7, float64 = 8 };
enum class IndexType : int { index32 = 0, index64 = 1 };

constexpr size_t size_of(DataType type) { return type == DataType::float32 ? 4 : 8; }
constexpr size_t size_of(IndexType type) { return type == IndexType::index32 ? 4 : 8; }

/// The narrowest type whose values reach every index of a vector of `count` entries.
constexpr IndexType narrowest_index(uint64_t count) {
  return count <= (uint64_t{1} << 32) ? IndexType::index32 : IndexType::index64;
}

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// "Everything" where a number of entries is asked for: no selection.
inline constexpr size_t kAll = static_cast<size_t>(-1);

/// Smallest t with 2^t >= x.
constexpr int ceil_log2(uint64_t x) {
  int t = 0;
  while ((uint64_t{1} << t) < x) ++t;
  return t;
}

}  // namespace sparsecoll
