// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The host's loops over values of 8 bits give the bits of core/int8.hpp, with every scale.

#include "kernels/host/int8_values.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

template <class A>
bool same_bits(A a, A b) {
  return std::bit_cast<Key<A>>(a) == std::bit_cast<Key<A>>(b);
}

/// Returns values around all numbers of a scale 2^e, halfway between them and beyond the largest;
/// values of all magnitudes; and special ones.
template <class A>
std::vector<A> values_at(int e, uint64_t seed) {
  std::vector<A> values{A{0},
                        std::numeric_limits<A>::denorm_min(),
                        std::numeric_limits<A>::max(),
                        std::numeric_limits<A>::infinity(),
                        std::numeric_limits<A>::quiet_NaN(),
                        std::numeric_limits<A>::signaling_NaN(),
                        std::numeric_limits<A>::min()};
  for (int quarters = 0; quarters < 8000; ++quarters) {
    const A value = static_cast<A>(std::ldexp(quarters / 4.0, e));
    for (const A each : {value, std::nextafter(value, A{0}), std::nextafter(value, A{1e30f})})
      if (quarters < 300 || quarters % 16 < 2 || quarters % 16 == 15) values.push_back(each);
  }
  for (uint64_t j = 0; j < 500; ++j)
    values.push_back(std::bit_cast<A>(static_cast<Key<A>>(test::noise(seed, j))));
  const size_t positive = values.size();
  for (size_t j = 0; j < positive; ++j) values.push_back(-values[j]);
  return values;
}

/// Returns how many values the loops round or code otherwise than the definition.
template <class A>
size_t wrong_at(ScaleByte scale) {
  const std::vector<A> values = values_at<A>(scale - kScaleBias, scale);
  const size_t n = values.size();
  std::vector<A> rounded(n), lost(n);
  std::vector<std::byte> codes(n);
  host::round_values(values.data(), n, scale, rounded.data(), lost.data());
  host::put_codes(codes.data(), values.data(), n, scale);
  size_t wrong = 0;
  for (size_t j = 0; j < n; ++j) {
    wrong += !same_bits(rounded[j], rounded_to_int8(values[j], scale));
    wrong += !same_bits(lost[j], lost_to_int8(values[j], scale));
    wrong += static_cast<int8_t>(codes[j]) != to_int8(values[j], scale).code;
  }
  return wrong;
}

/// Returns how many codes of a group are read otherwise than the definition says.
template <class A>
size_t wrong_reading(uint8_t scale) {
  std::vector<std::byte> message{std::byte{scale}};
  for (int code = -128; code < 128; ++code) message.push_back(static_cast<std::byte>(code));
  const RegionFormat format(256, 1, ScaleGroups(8, 0));
  std::vector<A> out(256);
  host::get_int8_values(
      message.data(), {256, 256, 1, 1}, format, [](size_t j) { return j; }, out.data());
  size_t wrong = 0;
  for (int code = -128; code < 128; ++code)
    wrong += !same_bits(out[static_cast<size_t>(code + 128)],
                        from_int8<A>(Int8{static_cast<int8_t>(code)}, scale));
  return wrong;
}

TEST_CASE("loops over values of 8 bits give the bits of the definition, with every scale") {
  for (int scale = kLeastScale; scale <= kLargestScale; ++scale) {
    CAPTURE(scale);
    CHECK(wrong_at<float>(static_cast<ScaleByte>(scale)) == 0);
    CHECK(wrong_at<double>(static_cast<ScaleByte>(scale)) == 0);
  }
  for (int scale = 0; scale < 256; ++scale) {  // bad messages have any
    CAPTURE(scale);
    CHECK(wrong_reading<float>(static_cast<uint8_t>(scale)) == 0);
    CHECK(wrong_reading<double>(static_cast<uint8_t>(scale)) == 0);
  }
}

TEST_CASE("the scale of values is that of the largest finite one") {
  for (size_t n = 0; n < 40; ++n)
    for (size_t at = 0; at < n; ++at) {
      std::vector<float> values(n, 1.0f);
      values[at] = -12345.0f;
      if (n > 1) values[(at + 1) % n] = std::numeric_limits<float>::infinity();
      if (n > 2) values[(at + 2) % n] = std::numeric_limits<float>::quiet_NaN();
      CHECK(host::scale_of_values(values.data(), n) == scale_of<float>(scaled_key(12345.0f)));
    }
  CHECK(host::scale_of_values(static_cast<const float*>(nullptr), 0) == scale_of<float>(0));
}

}  // namespace
}  // namespace sparsecoll::unit
