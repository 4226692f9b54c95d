// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/int8.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Returns the exponent of the scale for values up to this magnitude.
template <class A>
int exponent_for(A largest) {
  return scale_of<A>(scaled_key(largest)) - kScaleBias;
}

/// Returns the same by trying exponents in turn: 1952 is halfway to the next number of five bits.
int least_exponent(long double largest) {
  int e = -136;
  while (e < 117 && std::ldexp(largest, -e) > 1952) ++e;
  return e;
}

TEST_CASE("a scale is the smallest with which the largest value rounds to 1920 or less") {
  CHECK(exponent_for(1920.0f) == 0);
  CHECK(exponent_for(1952.0f) == 0);  // a tie: 1920 is 30 * 64
  CHECK(exponent_for(std::nextafter(1952.0f, 2000.0f)) == 1);
  CHECK(exponent_for(0.0f) == -136);
  CHECK(exponent_for(std::numeric_limits<float>::denorm_min()) == -136);
  CHECK(exponent_for(std::numeric_limits<float>::max()) == 117);
  CHECK(exponent_for(std::numeric_limits<double>::max()) == 117);
  CHECK(exponent_for(std::numeric_limits<double>::denorm_min()) == -136);
  for (uint64_t j = 0; j < 200000; ++j) {
    const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(test::noise(1, j)));
    const auto wide = std::bit_cast<double>(test::noise(2, j));
    if (std::isfinite(narrow) && exponent_for(narrow) != least_exponent(std::fabs(narrow)))
      FAIL(narrow);
    if (std::isfinite(wide) && exponent_for(wide) != least_exponent(std::fabs(wide))) FAIL(wide);
  }
}

TEST_CASE("values that are not finite do not decide a scale") {
  CHECK(scaled_key(kInfinity) == 0);
  CHECK(scaled_key(std::numeric_limits<float>::quiet_NaN()) == 0);
  const ScaleByte scale = scale_of<float>(scaled_key(100.0f));
  CHECK(rounded_to_int8(kInfinity, scale) == kInfinity);
  CHECK(rounded_to_int8(-kInfinity, scale) == -kInfinity);
  CHECK(std::bit_cast<uint32_t>(rounded_to_int8(std::bit_cast<float>(0xffc00001u), scale)) ==
        0x7fc00000u);
  CHECK(lost_to_int8(kInfinity, scale) == 0);
  CHECK(lost_to_int8(std::numeric_limits<double>::quiet_NaN(), scale) == 0);
}

/// Checks a value that shares a scale with a larger one.
template <class A>
void check_value(A value, A largest) {
  const ScaleByte scale = scale_of<A>(std::max(scaled_key(value), scaled_key(largest)));
  const A rounded = rounded_to_int8(value, scale), lost = lost_to_int8(value, scale);
  if (!std::isfinite(value)) {
    if (lost != 0) FAIL(value);
    return;
  }
  if (std::signbit(rounded) && rounded == 0) FAIL("a negative zero");
  if (std::fabs(value) < A{3.2e38f}) {
    if (rounded + lost != value) FAIL(value);
    const auto half = static_cast<A>(power_of_two(scale - kScaleBias - 1));
    if (std::fabs(lost) > std::max(half, std::fabs(value) / 32)) FAIL(value);
  }
  if (from_int8<A>(to_int8(value, scale), scale) != rounded) FAIL(value);
  // Rounding a second time changes nothing, neither with the same scale nor with the value's own.
  if (rounded_to_int8(rounded, scale) != rounded) FAIL(value);
  if (rounded_to_int8(rounded, scale_of<A>(scaled_key(rounded))) != rounded) FAIL(value);
}

TEST_CASE("a value rounded to 8 bits and its rounding error add up to the value") {
  for (uint64_t j = 0; j < 500000; ++j) {
    const uint64_t a = test::noise(3, j), b = test::noise(4, j);
    check_value(std::bit_cast<float>(static_cast<uint32_t>(a)),
                std::bit_cast<float>(static_cast<uint32_t>(b)));
    check_value(std::bit_cast<double>(a), std::bit_cast<double>(b));
    // values of similar size
    const float near = static_cast<float>(static_cast<int32_t>(a)) * 0x1p-20f;
    check_value(near, static_cast<float>(static_cast<int32_t>(b)) * 0x1p-20f);
    check_value(static_cast<double>(near) + 0x1p-40, 4096.0);
  }
  check_value(std::numeric_limits<float>::max(), 0.0f);
  CHECK(rounded_to_int8(std::numeric_limits<float>::max(), ScaleByte{254}) == 1920 * 0x1p117f);
  CHECK(rounded_to_int8(-1e300, ScaleByte{254}) == -1920 * 0x1p117);
}

TEST_CASE("codes count the numbers of five bits, and ties round to even ones") {
  const ScaleByte scale = scale_of<float>(scaled_key(1920.0f));  // 2^0
  for (int code = 0, last = -1; code <= 126; ++code) {
    const int n = n_of(code);
    CHECK(n > last);
    CHECK(n <= last + 1 + (last < 32 ? 0 : last / 16));
    CHECK(to_int8(static_cast<float>(n), scale).code == code);
    CHECK(to_int8(static_cast<float>(-n), scale).code == -code);
    last = n;
  }
  CHECK(to_int8(0.5f, scale).code == 0);
  CHECK(to_int8(1.5f, scale).code == 2);
  CHECK(to_int8(-2.5f, scale).code == -2);
  CHECK(to_int8(15.5f, scale).code == 16);
  CHECK(to_int8(33.0f, scale).code == 32);  // 32 or 34
  CHECK(to_int8(35.0f, scale).code == 34);  // 34 or 36
  CHECK(to_int8(1952.0f, scale).code == 126);
  CHECK(to_int8(std::nextafter(0.5f, 1.0f), scale).code == 1);
  CHECK(to_int8(std::nextafter(33.0f, 34.0f), scale).code == 33);
}

}  // namespace
}  // namespace sparsecoll
