// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/half.hpp"
#include "core/types.hpp"

namespace sparsecoll {

// The value types of the library: float, double, Float16, Bfloat16; and uint32_t and uint64_t for
// the signed integers, because sums wrap.
template <class T>
concept Integer = std::unsigned_integral<T>;

/// The bits of a floating-point type as an integer of the same width, and their layout.
template <class T>
struct Float;

template <>
struct Float<float> {
  using Bits = uint32_t;
  static constexpr Bits kMagnitude = 0x7fffffffu;
  static constexpr Bits kInfinity = 0x7f800000u;
  static constexpr Bits kNan = 0x7fc00000u;
  static constexpr DataType kType = DataType::float32;
};

template <>
struct Float<double> {
  using Bits = uint64_t;
  static constexpr Bits kMagnitude = 0x7fffffffffffffffull;
  static constexpr Bits kInfinity = 0x7ff0000000000000ull;
  static constexpr Bits kNan = 0x7ff8000000000000ull;
  static constexpr DataType kType = DataType::float64;
};

template <>
struct Float<Float16> {
  using Bits = uint16_t;
  static constexpr Bits kMagnitude = 0x7fffu;
  static constexpr Bits kInfinity = 0x7c00u;
  static constexpr Bits kNan = 0x7e00u;
  static constexpr DataType kType = DataType::float16;
};

template <>
struct Float<Bfloat16> {
  using Bits = uint16_t;
  static constexpr Bits kMagnitude = 0x7fffu;
  static constexpr Bits kInfinity = 0x7f80u;
  static constexpr Bits kNan = 0x7fc0u;
  static constexpr DataType kType = DataType::bfloat16;
};

template <class T>
constexpr DataType data_type_of() {
  if constexpr (Integer<T>)
    return sizeof(T) == 4 ? DataType::int32 : DataType::int64;
  else
    return Float<T>::kType;
}

/// The type in which values of T are added and residuals are kept.
template <class T>
using Accumulation = std::conditional_t<sizeof(T) == 2, float, T>;

/// An unsigned integer with the width of T.
template <class T>
using Key = std::conditional_t<sizeof(T) == 2, uint16_t,
                               std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

/// Returns an integer that orders values by magnitude: zeros have key 0, and every NaN has the same
/// key, just above infinity.
template <class T>
constexpr Key<T> key_of(T value) {
  if constexpr (Integer<T>) {
    return value >> (8 * sizeof(T) - 1) != 0 ? T{0} - value : value;
  } else {
    using F = Float<T>;
    const auto magnitude = static_cast<Key<T>>(std::bit_cast<Key<T>>(value) & F::kMagnitude);
    return magnitude > F::kInfinity ? static_cast<Key<T>>(F::kInfinity + 1) : magnitude;
  }
}

template <class T>
constexpr uint64_t key_end() {
  if constexpr (Integer<T>)
    return (uint64_t{1} << (8 * sizeof(T) - 1)) + 1;
  else
    return uint64_t{Float<T>::kInfinity} + 2;
}

/// One more than the largest key.
template <class T>
inline constexpr uint64_t kKeyEnd = key_end<T>();

template <class T>
constexpr bool finite(T value) {
  return key_of(value) < Float<T>::kInfinity;
}

/// Returns the value, with any NaN replaced by the canonical quiet one.
template <class T>
constexpr T canonical(T value) {
  if constexpr (Integer<T>)
    return value;
  else
    return value != value ? std::bit_cast<T>(Float<T>::kNan) : value;
}

/// Returns the value as results have it: with the canonical NaN and without negative zero.
template <class T>
constexpr T delivered(T value) {
  return canonical(static_cast<T>(value + T{0}));
}

/// Returns the first key of T whose value has, when widened, at least this key.
template <class T>
constexpr uint64_t narrow_key(uint64_t key) {
  if constexpr (sizeof(T) != 2) {
    return key;
  } else {
    uint64_t low = 0, high = kKeyEnd<T>;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      const bool below = key_of(widen(T{static_cast<uint16_t>(middle)})) < key;
      (below ? low : high) = below ? middle + 1 : middle;
    }
    return low;
  }
}

/// Returns a selected value as it is sent: rounded once to T, with the canonical NaN and without
/// negative zero. The addition of 0 removes negative zeros; on a GPU it changes the bits of a NaN.
template <class T>
constexpr Accumulation<T> sent_part(Accumulation<T> value) {
  if constexpr (sizeof(T) == 2)
    return canonical(widen(narrow<T>(value)) + 0.0f);
  else
    return canonical(value);
}

/// Returns the difference that stays in the residual; 0 for values that are not finite.
template <class T>
constexpr Accumulation<T> residual_part(Accumulation<T> value) {
  if constexpr (sizeof(T) == 2)
    return finite(value) ? value - sent_part<T>(value) : 0.0f;
  else
    return Accumulation<T>{0};
}

/// Returns a value as it is sent over a bfloat16 wire: rounded once, never a negative zero.
template <class A>
constexpr A rounded_to_bf16(A value) {
  return canonical(static_cast<A>(static_cast<A>(widen(narrow<Bfloat16>(value))) + A{0}));
}

/// Returns the rounding error of a value on a bfloat16 wire, to be added to the sent value; 0 for
/// values that are not finite.
template <class A>
constexpr A lost_to_bf16(A value) {
  return finite(value) ? value - rounded_to_bf16(value) : A{0};
}

/// Returns the value of a result entry: divided, then rounded once to T.
template <class T>
constexpr T result_value(Accumulation<T> sum, int divisor) {
  if (divisor != 1) {
    if constexpr (Integer<T>)
      sum = static_cast<T>(static_cast<std::make_signed_t<T>>(sum) / divisor);
    else
      sum /= static_cast<Accumulation<T>>(divisor);
  }
  if constexpr (sizeof(T) == 2) {
    const T rounded = narrow<T>(sum);
    return {rounded.bits == 0x8000u ? uint16_t{0} : rounded.bits};
  } else {
    return delivered(sum);
  }
}

}  // namespace sparsecoll
