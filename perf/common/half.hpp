// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sparsecoll::perf {

/// A finite 16-bit floating-point number, in the format in which the library reads it.
template <int exponent_bits, int mantissa_bits>
class Half {
 public:
  /// The format has all integers up to this one exactly.
  static constexpr int kExactIntegers = 2 << mantissa_bits;

  Half() = default;
  /// Rounds to the nearest value, ties to even. Values beyond the largest become the largest.
  explicit Half(float value) {
    const float magnitude = std::min(std::fabs(value), largest());
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = magnitude == 0 ? 1 - kBias : std::max(exponent - 1, 1 - kBias);
    // Rounding up may carry into the exponent. Then the mantissa becomes 0, which is right.
    const auto significand =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
    const std::uint32_t binade = static_cast<std::uint32_t>(exponent + kBias - 1);
    bits_ = static_cast<std::uint16_t>((std::signbit(value) ? 0x8000u : 0u) |
                                       ((binade << mantissa_bits) + significand));
  }
  operator float() const {  // NOLINT: implicit, as for other numbers
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

/// The accumulation type: values of T are added in it, and residuals have it.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

/// Returns the largest integer up to which all integers, and hence their sums, are exact in T.
template <class T>
constexpr int exact_integers() {
  if constexpr (kIsHalf<T>) return T::kExactIntegers;
  return 1 << std::numeric_limits<float>::digits;
}

}  // namespace sparsecoll::perf
