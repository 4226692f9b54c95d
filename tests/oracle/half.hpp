// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The 16-bit floating-point types of the tests. They compute with the values of their fields, in
// double, where the library manipulates bits.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sparsecoll::oracle {

/// A type with a sign, `exponent_bits` and `mantissa_bits`, as in IEEE 754.
template <int exponent_bits, int mantissa_bits>
struct Half {
  static_assert(1 + exponent_bits + mantissa_bits == 16);
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kSpecial = (1 << exponent_bits) - 1;  // exponent field of infinity and NaN
  static constexpr int kOne = 1 << mantissa_bits;

  std::uint16_t bits = 0;

  Half() = default;
  /// Rounds to nearest, ties to even. Beyond the largest value the result is that value. NaNs
  /// become the canonical one.
  explicit Half(double value) : bits(nearest(value)) {}
  static Half of_bits(unsigned pattern) {
    Half half;
    half.bits = static_cast<std::uint16_t>(pattern);
    return half;
  }

  /// Converts exactly, except for the payloads of NaNs.
  operator float() const {  // NOLINT: a value like any other
    const int exponent = (bits & 0x7fff) >> mantissa_bits;
    const int mantissa = bits & (kOne - 1);
    const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
    if (exponent == kSpecial && mantissa != 0) return std::numeric_limits<float>::quiet_NaN();
    if (exponent == kSpecial) return static_cast<float>(sign * HUGE_VAL);
    const int significand = exponent == 0 ? mantissa : kOne + mantissa;
    return static_cast<float>(
        std::ldexp(sign * significand, std::max(exponent, 1) - kBias - mantissa_bits));
  }

 private:
  static std::uint16_t nearest(double value) {
    if (std::isnan(value))
      return static_cast<std::uint16_t>((kSpecial << mantissa_bits) + kOne / 2);
    const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
    const double magnitude = std::fabs(value);
    if (std::isinf(value)) return static_cast<std::uint16_t>(sign + (kSpecial << mantissa_bits));
    const double largest = std::ldexp(2 * kOne - 1, kSpecial - 1 - kBias - mantissa_bits);
    if (magnitude == 0) return static_cast<std::uint16_t>(sign);
    // Returns multiples of the last bit of the value's binade, or of the subnormals.
    int exponent = std::max(std::ilogb(magnitude), 1 - kBias);
    double places = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
    if (std::ldexp(places, exponent - mantissa_bits) > largest) {
      exponent = kSpecial - 1 - kBias;
      places = 2 * kOne - 1;
    }
    // A carry into the exponent gives the sum of IEEE 754.
    const int pattern = ((exponent + kBias - 1) << mantissa_bits) + static_cast<int>(places);
    return static_cast<std::uint16_t>(sign + static_cast<unsigned>(pattern));
  }
};

using Float16 = Half<5, 10>;
using Bfloat16 = Half<8, 7>;

template <class T>
inline constexpr bool kIsHalf = sizeof(T) == 2;

/// The accumulation type.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

}  // namespace sparsecoll::oracle

template <int exponent_bits, int mantissa_bits>
class std::numeric_limits<sparsecoll::oracle::Half<exponent_bits, mantissa_bits>> {
  using Half = sparsecoll::oracle::Half<exponent_bits, mantissa_bits>;
  static constexpr int kInfinity = Half::kSpecial << mantissa_bits;

 public:
  static constexpr bool is_specialized = true;
  static constexpr int max_digits10 = 5;
  static Half infinity() { return Half::of_bits(kInfinity); }
  static Half quiet_NaN() { return Half::of_bits(kInfinity + Half::kOne / 2); }
  static Half max() { return Half::of_bits(kInfinity - 1); }
  static Half denorm_min() { return Half::of_bits(1); }
};
