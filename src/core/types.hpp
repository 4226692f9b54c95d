// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct CUstream_st;

namespace sparsecoll {

/// The types of values and indices, with the numbers of the C API.
enum class DataType : int {
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9
};
/// The number of 8-bit values in messages (core/int8.hpp). No tensor has this type.
inline constexpr DataType kInt8Values{0};
enum class IndexType : int { index32 = 0, index64 = 1 };

constexpr size_t size_of(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::float64:
      break;
  }
  return 8;
}
constexpr size_t size_of(IndexType type) { return type == IndexType::index32 ? 4 : 8; }

/// The type in which values are added and residuals are kept.
constexpr DataType accumulation(DataType type) {
  return size_of(type) == 2 ? DataType::float32 : type;
}

constexpr bool is_integer(DataType type) {
  return type == DataType::int32 || type == DataType::int64;
}

/// Returns the name in the C API; null for a number that is no type.
constexpr const char* name_of(DataType type) {
  switch (type) {
    case DataType::int32:
      return "sparsecollInt32";
    case DataType::int64:
      return "sparsecollInt64";
    case DataType::float16:
      return "sparsecollFloat16";
    case DataType::float32:
      return "sparsecollFloat32";
    case DataType::float64:
      return "sparsecollFloat64";
    case DataType::bfloat16:
      return "sparsecollBfloat16";
  }
  return nullptr;  // a number that is no type
}

/// Returns the narrowest type that can hold every index of a vector of `count` entries.
constexpr IndexType narrowest_index(uint64_t count) {
  return count <= (uint64_t{1} << 32) ? IndexType::index32 : IndexType::index64;
}

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// A CUDA stream. Null is the legacy default stream.
using Stream = CUstream_st*;

/// Stands for "everything" in place of a number of entries: no selection.
inline constexpr size_t kAll = static_cast<size_t>(-1);

/// Returns the smallest t with 2^t >= x.
constexpr int ceil_log2(uint64_t x) {
  int t = 0;
  while ((uint64_t{1} << t) < x) ++t;
  return t;
}

}  // namespace sparsecoll
