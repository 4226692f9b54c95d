// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of conversions from and to 16-bit types, against arithmetic in double: all patterns are
// widened, and all values around the rounding boundaries are narrowed.

#include "core/half.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numeric.hpp"
#include "oracle/half.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

template <class Reference>
float reference(uint32_t pattern) {
  return Reference::of_bits(pattern);
}

template <class Type, class Reference>
size_t wrong_widenings() {
  size_t wrong = 0;
  for (uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const float got = widen(Type{static_cast<uint16_t>(pattern)});
    const float want = reference<Reference>(pattern);
    if (std::isnan(want) ? !std::isnan(got)
                         : std::bit_cast<uint32_t>(got) != std::bit_cast<uint32_t>(want))
      ++wrong;
  }
  return wrong;
}

TEST_CASE("all 65,536 patterns of a 16-bit type widen to their value") {
  CHECK(wrong_widenings<Float16, oracle::Float16>() == 0);
  CHECK(wrong_widenings<Bfloat16, oracle::Bfloat16>() == 0);
}

/// Returns whether `value` is rounded like the reference.
template <class Type, class Reference>
bool rounds(float value) {
  return narrow<Type>(value).bits == Reference(value).bits;
}

/// Checks every value of the type, the midpoint to the next value, and the float neighbours of
/// both.
template <class Type, class Reference>
size_t wrong_roundings() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  size_t wrong = 0;
  const auto check_around = [&](float value) {
    for (const float each :
         {value, std::nextafter(value, kInfinity), std::nextafter(value, -kInfinity)})
      wrong += !rounds<Type, Reference>(each);
  };
  for (uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const float value = reference<Reference>(pattern);
    wrong += !rounds<Type, Reference>(value);
    if (!std::isfinite(value)) continue;
    check_around(value);
    const float next = reference<Reference>(pattern + 1 <= 0xffff ? pattern + 1 : pattern);
    if (std::isfinite(next)) check_around(static_cast<float>((double{value} + double{next}) / 2));
  }
  return wrong;
}

TEST_CASE("floats round to the nearest 16-bit value, ties to even") {
  CHECK(wrong_roundings<Float16, oracle::Float16>() == 0);
  CHECK(wrong_roundings<Bfloat16, oracle::Bfloat16>() == 0);
}

template <class Type, class Reference>
size_t wrong_random_roundings() {
  size_t wrong = 0;
  for (uint64_t j = 0; j < 1000000; ++j) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(test::noise(1, j)));
    wrong += !rounds<Type, Reference>(value);
  }
  return wrong;
}

TEST_CASE("a million random floats round correctly") {
  CHECK(wrong_random_roundings<Float16, oracle::Float16>() == 0);
  CHECK(wrong_random_roundings<Bfloat16, oracle::Bfloat16>() == 0);
}

TEST_CASE("well-known 16-bit values") {
  CHECK(narrow<Float16>(1.0f).bits == 0x3c00);
  CHECK(narrow<Float16>(65504.0f).bits == 0x7bff);
  CHECK(narrow<Float16>(65519.9f).bits == 0x7bff);
  CHECK(narrow<Float16>(65520.0f).bits == 0x7bff);  // IEEE 754 rounds this to infinity
  CHECK(narrow<Float16>(-1e30f).bits == 0xfbff);
  CHECK(narrow<Float16>(-std::numeric_limits<float>::infinity()).bits == 0xfc00);
  CHECK(narrow<Float16>(std::bit_cast<float>(0xff800001u)).bits == 0x7e00);
  CHECK(narrow<Float16>(5.9604645e-8f).bits == 0x0001);
  CHECK(narrow<Float16>(2.9802322e-8f).bits == 0x0000);  // half the smallest value: ties to even
  CHECK(narrow<Float16>(-0.0f).bits == 0x8000);
  CHECK(narrow<Bfloat16>(1.0f).bits == 0x3f80);
  CHECK(narrow<Bfloat16>(std::numeric_limits<float>::max()).bits == 0x7f7f);
  CHECK(narrow<Bfloat16>(-std::numeric_limits<float>::max()).bits == 0xff7f);
  CHECK(narrow<Bfloat16>(std::numeric_limits<float>::infinity()).bits == 0x7f80);
  CHECK(narrow<Bfloat16>(std::bit_cast<float>(0x7f800001u)).bits == 0x7fc0);
  CHECK(narrow<Bfloat16>(1.00390625f).bits == 0x3f80);  // midpoint: ties to even
  CHECK(narrow<Bfloat16>(1.01171875f).bits == 0x3f82);
}

/// Checks the double neighbours of every bfloat16 value and midpoint, and random doubles.
size_t wrong_doubles() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  size_t wrong = 0;
  const auto check_around = [&](double value) {
    for (const double each :
         {value, std::nextafter(value, kInfinity), std::nextafter(value, -kInfinity)})
      wrong += narrow<Bfloat16>(each).bits != oracle::Bfloat16(each).bits;
  };
  for (uint32_t pattern = 0; pattern < 0xffff; ++pattern) {
    const double value = reference<oracle::Bfloat16>(pattern);
    const double next = reference<oracle::Bfloat16>(pattern + 1);
    check_around(value);
    if (std::isfinite(value) && std::isfinite(next)) check_around((value + next) / 2);
  }
  for (uint64_t j = 0; j < 1000000; ++j) {
    const uint64_t bits = test::noise(3, j);
    const double any = std::bit_cast<double>(bits);
    // A random double in the range of bfloat16.
    const double inside = std::ldexp(1.0 + static_cast<double>(bits >> 12) * 0x1p-52,
                                     static_cast<int>(bits % 280) - 145);
    for (const double each : {any, inside, -inside})
      wrong += narrow<Bfloat16>(each).bits != oracle::Bfloat16(each).bits;
  }
  return wrong;
}

TEST_CASE("doubles round to the nearest bfloat16, once") {
  CHECK(wrong_doubles() == 0);
  CHECK(narrow<Bfloat16>(1e300).bits == 0x7f7f);
  CHECK(narrow<Bfloat16>(-1e300).bits == 0xff7f);
  CHECK(narrow<Bfloat16>(1e-300).bits == 0);
  CHECK(narrow<Bfloat16>(-0.0).bits == 0x8000);
  CHECK(narrow<Bfloat16>(1.00390625 + 0x1p-50).bits == 0x3f81);  // a tie if first rounded to float
}

template <class A>
void check_wire(A value) {
  const A rounded = rounded_to_bf16(value), lost = lost_to_bf16(value);
  if (std::isfinite(value) && std::fabs(value) < A{3e38f} && rounded + lost != value) FAIL(value);
  if (!std::isfinite(value) && lost != 0) FAIL(value);
  if (std::signbit(rounded) && rounded == 0) FAIL("a negative zero");
}

TEST_CASE("a value rounded to bfloat16 and its rounding error add up to the value") {
  for (uint64_t j = 0; j < 1000000; ++j) {
    check_wire(std::bit_cast<float>(static_cast<uint32_t>(test::noise(4, j))));
    check_wire(std::bit_cast<double>(test::noise(5, j)));
  }
  CHECK(std::bit_cast<uint64_t>(rounded_to_bf16(std::bit_cast<double>(0xfff0000000000001ull))) ==
        0x7ff8000000000000ull);
  CHECK(rounded_to_bf16(-1e300) == -0x1.fep127);
  CHECK(lost_to_bf16(std::numeric_limits<float>::max()) == 0x1.fffffep127f - 0x1.fep127f);
}

/// Returns whether the two parts of `acc` add up to it exactly. put_back() relies on this.
template <class T>
bool is_restored(float acc) {
  const float back = residual_part<T>(acc) + sent_part<T>(acc);
  return std::bit_cast<uint32_t>(back) == std::bit_cast<uint32_t>(acc);
}

TEST_CASE("the sent and the remaining part of a value add up to the value") {
  for (uint64_t j = 0; j < 4000000; ++j) {
    const float acc = std::bit_cast<float>(static_cast<uint32_t>(test::noise(2, j)));
    if (acc == 0 || acc != acc) continue;
    // Between 2^29 and 2^30 the largest float16, 65504, is a multiple of half a unit in the last
    // place.
    const bool odd = std::fabs(acc) >= 0x1p29f && std::fabs(acc) < 0x1p30f;
    if (!odd && !is_restored<Float16>(acc)) FAIL("float16 " << acc);
    if (!is_restored<Bfloat16>(acc)) FAIL("bfloat16 " << acc);
    const float back = residual_part<Float16>(acc) + sent_part<Float16>(acc);
    if (odd && std::fabs(back - acc) > 64) FAIL("float16 " << acc);
  }
  for (const float acc : {1e-45f, 3e-8f, 2.9802322e-8f, 6.1e-5f, 65519.0f, 65520.0f, 7e4f, 1e8f,
                          2e9f, 3e38f, std::numeric_limits<float>::infinity()}) {
    CHECK(is_restored<Float16>(acc));
    CHECK(is_restored<Float16>(-acc));
    CHECK(is_restored<Bfloat16>(acc));
    CHECK(is_restored<Bfloat16>(-acc));
  }
}

TEST_CASE("a sent value is never a negative zero, and a NaN leaves no remainder") {
  CHECK(std::bit_cast<uint32_t>(sent_part<Float16>(-1e-30f)) == 0);
  CHECK(residual_part<Float16>(-1e-30f) == -1e-30f);
  CHECK(std::bit_cast<uint32_t>(sent_part<Bfloat16>(std::bit_cast<float>(0xffffffffu))) ==
        0x7fc00000u);
  CHECK(residual_part<Bfloat16>(std::bit_cast<float>(0xffffffffu)) == 0);
  CHECK(residual_part<Float16>(-std::numeric_limits<float>::infinity()) == 0);
  CHECK(result_value<Float16>(-1e-30f, 1).bits == 0);
  CHECK(result_value<Float16>(131008.0f, 2).bits == 0x7bff);  // divided before rounding
  CHECK(result_value<Float16>(131008.0f, 1).bits == 0x7bff);
  CHECK(result_value<Bfloat16>(3.0f, 2).bits == 0x3fc0);
}

TEST_CASE("keys order 16-bit values by magnitude, as those of float do") {
  for (uint32_t pattern = 0; pattern < 0x7fff; ++pattern) {
    const Float16 low{static_cast<uint16_t>(pattern)}, high{static_cast<uint16_t>(pattern + 1)};
    if (key_of(low) > key_of(high)) FAIL(pattern);
    if ((key_of(low) < key_of(high)) != (key_of(widen(low)) < key_of(widen(high)))) FAIL(pattern);
  }
  CHECK(key_of(Float16{0x8000}) == 0);
  CHECK(key_of(Bfloat16{0xffff}) == key_of(Bfloat16{0x7f81}));
  CHECK(kKeyEnd<Bfloat16> == uint64_t{key_of(Bfloat16{0x7fc0})} + 1);
}

}  // namespace
}  // namespace sparsecoll::unit
