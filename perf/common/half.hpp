// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sparsecoll::perf {

/// A 16-bit floating-point number as it lies in memory, for finite values.
template <int exponent_bits, int mantissa_bits>
class Half {
 public:
  /// Integers up to this are exact, and so are their sums.
  static constexpr int kExactIntegers = 2 << mantissa_bits;

  Half() = default;
  /// To the nearest, ties to even; at most the largest.
  explicit Half(float value) {
    const float magnitude = std::min(std::fabs(value), largest());
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = magnitude == 0 ? 1 - kBias : std::max(exponent - 1, 1 - kBias);
    // Carries into the exponent as it should.
    const auto significand =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
    const std::uint32_t binade = static_cast<std::uint32_t>(exponent + kBias - 1);
    bits_ = static_cast<std::uint16_t>((std::signbit(value) ? 0x8000u : 0u) |
                                       ((binade << mantissa_bits) + significand));
  }
  operator float() const {  // NOLINT: a number like any other
    const int exponent = (bits_ & 0x7fff) >> mantissa_bits;
    const int mantissa = bits_ & ((1 << mantissa_bits) - 1);
    const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const float magnitude =
        std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - kBias - mantissa_bits);
    return (bits_ & 0x8000) != 0 ? -magnitude : magnitude;
  }

 private:
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static float largest() {
    return std::ldexp(static_cast<float>(kExactIntegers - 1), kBias - mantissa_bits);
  }

  std::uint16_t bits_ = 0;
};

using Float16 = Half<5, 10>;
using Bfloat16 = Half<8, 7>;

template <class T>
inline constexpr bool kIsHalf = sizeof(T) == 2;

/// In which values of T are added, and residuals kept.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

/// Integers whose sums are exact in T reach up to this.
template <class T>
constexpr int exact_integers() {
  if constexpr (kIsHalf<T>) return T::kExactIntegers;
  return 1 << std::numeric_limits<float>::digits;
}

}  // namespace sparsecoll::perf
