// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "core/numeric.hpp"

namespace sparsecoll {

// Values of 8 bits with a scale. A code stands for +-n * 2^e; n has at most five significant bits:
// an integer below 32, then every second one below 64, every fourth one below 128 and so on, up to
// 1920. The code is a sign, three bits for the range of n, and four for its number in the range.
// All values with one scale are multiples of 2^e of at most 1920 * 2^e, and so is every part of
// them. The scale that a part needs by itself is therefore the same or finer, and represents the
// part exactly: values that are rounded already can be selected from, cut and packed again without
// a further rounding.

/// A value in a message: the sign and the number of n, or one of the marks below.
struct Int8 {
  int8_t code;
};

template <>
struct Float<Int8> {
  static constexpr DataType kType = kInt8Values;
};

inline constexpr double kLargestN = 1920;  // n of code 126
inline constexpr int8_t kInt8Infinity = 127, kInt8NegativeInfinity = -127, kInt8Nan = -128;

/// A scale 2^e as it is sent: e + 137, from 1 to 254. 2^e is a value of float for each of them, and
/// so is every n * 2^e.
using ScaleByte = uint8_t;
inline constexpr int kScaleBias = 137, kLeastScale = 1, kLargestScale = 254;

/// Returns 2^e for |e| < 1023.
constexpr double power_of_two(int e) {
  return std::bit_cast<double>(static_cast<uint64_t>(1023 + e) << 52);
}

/// Returns the key of a value for the choice of a scale: 0 if the value is not finite.
template <class A>
constexpr Key<A> scaled_key(A value) {
  const Key<A> key = key_of(value);
  return key < Float<A>::kInfinity ? key : Key<A>{0};
}

/// Returns the scale of values whose largest scaled_key() is this: the smallest with which all of
/// them round to 1920 or less, within the limits of ScaleByte.
template <class A>
constexpr ScaleByte scale_of(Key<A> largest) {
  // With an exponent of x, the value is 1024 to 2048 times 2^(x - 10). Above 1952 it would round up
  // to 1984. This carries into the exponent what is above 1952 / 1024.
  constexpr int kMantissa = std::numeric_limits<A>::digits - 1;
  constexpr Key<A> kFraction = (Key<A>{1} << kMantissa) - 1;
  constexpr Key<A> kLargest = Key<A>{29} << (kMantissa - 5);
  const auto exponent = static_cast<int>((largest + (kFraction - kLargest)) >> kMantissa);
  constexpr int kBias = std::numeric_limits<A>::max_exponent - 1;
  const int scale = exponent - kBias + 127;
  return static_cast<ScaleByte>(scale < kLeastScale     ? kLeastScale
                                : scale > kLargestScale ? kLargestScale
                                                        : scale);
}

/// Returns n: the number of at most five significant bits that is nearest to a number from 0 to
/// 1920. On a tie it returns the one with the even code. It has no branches, which values of
/// different sizes would make slow.
constexpr double nearest_n(double exact) {
  // The sum has no room for more than the four bits behind the first one, or for fractions.
  const uint64_t exponent = std::max(std::bit_cast<uint64_t>(exact) >> 52, uint64_t{1023 + 4});
  const double round = std::bit_cast<double>((exponent + 48) << 52 | uint64_t{1} << 51);
  return (exact + round) - round;
}

/// Returns the code of n.
constexpr int code_of(double n) {
  // `steps` is the exponent of n, followed by the four bits behind its leading one. It grows by one
  // from each n to the next, as the code does. 16 itself has the code 16.
  const auto steps = static_cast<int>(std::bit_cast<uint64_t>(n) >> 48);
  return n < 16 ? static_cast<int>(n) : steps - (1023 + 4 - 1) * 16;
}

/// Returns n of a code from 0 to 126.
constexpr int n_of(int code) { return code < 32 ? code : (16 + code % 16) << (code / 16 - 1); }

/// Returns a value as it is sent: rounded to the nearest n * 2^e, ties to even codes. Finite values
/// stay finite.
template <class A>
constexpr Int8 to_int8(A value, ScaleByte scale) {
  if (value != value) return {kInt8Nan};
  if (!finite(value)) return {value > A{0} ? kInt8Infinity : kInt8NegativeInfinity};
  const double exact = static_cast<double>(value) * power_of_two(kScaleBias - scale);
  const double magnitude = exact < 0 ? -exact : exact;
  const int code = code_of(nearest_n(magnitude < kLargestN ? magnitude : kLargestN));
  return {static_cast<int8_t>(exact < 0 ? -code : code)};
}

/// Returns the value of a code, never a negative zero.
template <class A>
constexpr A from_int8(Int8 sent, ScaleByte scale) {
  if (sent.code == kInt8Nan) return std::bit_cast<A>(Float<A>::kNan);
  constexpr A kInfinity = std::numeric_limits<A>::infinity();
  if (sent.code == kInt8Infinity) return kInfinity;
  if (sent.code == kInt8NegativeInfinity) return -kInfinity;
  const int n = sent.code < 0 ? -n_of(-sent.code) : n_of(sent.code);
  // Only a damaged message has a larger scale. std::min would take kLargestScale by reference, and
  // kernels have no such variable: nvcc would compile a trap instead.
  const int e = (scale < kLargestScale ? scale : kLargestScale) - kScaleBias;
  return static_cast<A>(n * power_of_two(e));
}

/// Returns a value as it is sent over an int8 wire.
template <class A>
constexpr A rounded_to_int8(A value, ScaleByte scale) {
  if (!finite(value)) return from_int8<A>(to_int8(value, scale), scale);
  const double exact = static_cast<double>(value) * power_of_two(kScaleBias - scale);
  const uint64_t sign = std::bit_cast<uint64_t>(exact) & uint64_t{1} << 63;
  const auto magnitude = std::bit_cast<double>(std::bit_cast<uint64_t>(exact) ^ sign);
  const double n = nearest_n(magnitude < kLargestN ? magnitude : kLargestN);
  const auto signed_n = std::bit_cast<double>(std::bit_cast<uint64_t>(n) | sign);
  // The sum is never a negative zero.
  return static_cast<A>(signed_n * power_of_two(scale - kScaleBias)) + A{0};
}

/// Returns the rounding error of a value on an int8 wire, to be added to the sent value; 0 for
/// values that are not finite.
template <class A>
constexpr A lost_to_int8(A value, ScaleByte scale) {
  return finite(value) ? value - rounded_to_int8(value, scale) : A{0};
}

}  // namespace sparsecoll
