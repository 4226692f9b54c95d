// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace sparsecoll {

/// What selection needs to know of a floating-point type: its bits as an integer of the same width.
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

/// An integer that orders values as the library does: by magnitude, zeros 0, every NaN the same key
/// just above infinity. Integers compare without the surprises of NaN.
template <class T>
constexpr typename Float<T>::Bits key_of(T value) {
  using F = Float<T>;
  const auto magnitude = std::bit_cast<typename F::Bits>(value) & F::kMagnitude;
  return magnitude > F::kInfinity ? F::kInfinity + 1 : magnitude;
}

/// One more than the largest key.
template <class T>
inline constexpr uint64_t kKeyEnd = uint64_t{Float<T>::kInfinity} + 2;

template <class T>
constexpr bool finite(T value) {
  return key_of(value) < Float<T>::kInfinity;
}

/// The same value, any NaN replaced by the canonical quiet one.
template <class T>
constexpr T canonical(T value) {
  return value != value ? std::bit_cast<T>(Float<T>::kNan) : value;
}

/// As values leave the library: canonical NaN, no negative zero.
template <class T>
constexpr T delivered(T value) {
  return canonical(value + T{0});
}

}  // namespace sparsecoll
