// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sparsecoll {

// The floating-point types of 16 bits. They only store values; arithmetic uses float. The
// conversions select instead of branching, so that compilers turn loops over them into vector
// instructions.

/// IEEE binary16: 5 bits of exponent, 10 of mantissa.
struct Float16 {
  uint16_t bits;
};

/// The upper half of a float.
struct Bfloat16 {
  uint16_t bits;
};

/// Converts exactly. NaNs stay NaNs.
constexpr float widen(Float16 value) {
  constexpr uint32_t kExponent = 0x7c00u << 13, kRebias = 112u << 23;
  const uint32_t magnitude = (value.bits & 0x7fffu) << 13, exponent = magnitude & kExponent;
  const uint32_t normal = magnitude + kRebias + (exponent == kExponent ? kRebias : 0);
  // The sum of 2^-14 and the subnormal is a normal number with the bits of the subnormal at its low
  // end.
  constexpr uint32_t kSmallest = 113u << 23;
  const float subnormal =
      std::bit_cast<float>(magnitude + kSmallest) - std::bit_cast<float>(kSmallest);
  const uint32_t wide = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(wide | (value.bits & 0x8000u) << 16);
}
constexpr float widen(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
constexpr float widen(float value) { return value; }
constexpr double widen(double value) { return value; }
constexpr uint32_t widen(uint32_t value) { return value; }
constexpr uint64_t widen(uint64_t value) { return value; }

/// Rounds to the nearest value of T, ties to even. Finite values stay finite: values beyond the
/// largest value of T become the largest. NaNs become the canonical NaN.
template <class T, class Wide>
constexpr T narrow(Wide value) {
  static_assert(sizeof(T) == sizeof(Wide), "nothing to round");
  return value;
}
template <>
constexpr Float16 narrow<Float16>(float value) {
  constexpr uint32_t kInfinity = 0x7f800000u, kSmallestNormal = 113u << 23;
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  // In [0.5, 1) the last bit of a float is worth as much as that of a subnormal: 2^-24.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - (126u << 23);
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  uint32_t half = magnitude < kSmallestNormal ? subnormal : std::min(normal, 0x7bffu);
  half = magnitude >= kInfinity ? 0x7c00u : half;
  half |= bits >> 16 & 0x8000u;
  return {static_cast<uint16_t>(magnitude > kInfinity ? 0x7e00u : half)};
}
template <>
constexpr Bfloat16 narrow<Bfloat16>(float value) {
  constexpr uint32_t kInfinity = 0x7f800000u;
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t rounded = std::min((magnitude + 0x7fffu + (magnitude >> 16 & 1)) >> 16, 0x7f7fu);
  const uint32_t half = (magnitude >= kInfinity ? 0x7f80u : rounded) | (bits >> 16 & 0x8000u);
  return {static_cast<uint16_t>(magnitude > kInfinity ? 0x7fc0u : half)};
}
template <>
constexpr Bfloat16 narrow<Bfloat16>(double value) {
  constexpr uint64_t kInfinity = 0x7ffull << 52, kSmallestNormal = 897ull << 52;  // 2^-126
  const uint64_t bits = std::bit_cast<uint64_t>(value), magnitude = bits & ~(uint64_t{1} << 63);
  // A float of the leading bits, whose last bit is also set if any lower bit was. It has enough
  // bits: rounding it is the same as rounding the value once.
  const uint64_t normal = (magnitude - (896ull << 52)) >> 29 | ((magnitude << 35) != 0);
  // Below the smallest normal number, floats are multiples of 2^-149.
  const double places = std::bit_cast<double>(std::min(magnitude, kSmallestNormal)) *
                        std::bit_cast<double>(1172ull << 52);
  const uint64_t whole = static_cast<uint64_t>(places);
  const uint64_t subnormal = whole | (static_cast<double>(whole) != places);
  uint64_t wide = magnitude < kSmallestNormal ? subnormal : std::min<uint64_t>(normal, 0x7f7fffffu);
  wide = magnitude >= kInfinity ? 0x7f800000u : wide;
  wide = magnitude > kInfinity ? 0x7fc00000u : wide | (bits >> 32 & 0x80000000u);
  return narrow<Bfloat16>(std::bit_cast<float>(static_cast<uint32_t>(wide)));
}

}  // namespace sparsecoll
