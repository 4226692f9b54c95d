// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of 8 bits with scales (core/int8.hpp): rounding, writing and reading them. The loops over
// floats work on blocks of a fixed size, without branches, so that compilers use vector
// instructions; they give the bits of core/int8.hpp.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/int8.hpp"
#include "kernels/host/view.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

/// Calls body(first, last, group) for consecutive entries of one group of indices that share a
/// scale. `group_of` returns the group of an entry.
template <class GroupOf, class Body>
void for_groups(size_t entries, const GroupOf& group_of, const Body& body) {
  for (size_t first = 0, last = 0; first < entries; first = last) {
    const uint64_t group = group_of(first);
    for (last = first + 1; last < entries && group_of(last) == group;) ++last;
    body(first, last, group);
  }
}

/// Rounds and codes floats that share a scale 2^e. It serves scales that are so far from the ends
/// of the range that no intermediate result overflows or is subnormal.
class FloatScale {
 public:
  static constexpr size_t kLanes = 16;  ///< floats that one call takes
  using Lanes = std::array<float, kLanes>;

  static constexpr bool serves(ScaleByte scale) { return scale > 40 && scale < 210; }

  explicit FloatScale(ScaleByte scale)
      : e_(scale - kScaleBias),
        largest_(std::bit_cast<int32_t>(static_cast<float>(kLargestN * power_of_two(e_)))),
        per_step_(static_cast<float>(power_of_two(-e_))) {}

  /// Rounds values and returns what rounding takes from them.
  void round(const Lanes& value, Lanes& rounded, Lanes& lost) const {
    for (size_t i = 0; i < kLanes; ++i) {
      const auto bits = std::bit_cast<int32_t>(value[i]);
      const int32_t magnitude = bits & kMagnitude;
      const float near = std::bit_cast<float>(nearest(magnitude));
      // The sum is never a negative zero.
      const float sent = std::bit_cast<float>(std::bit_cast<int32_t>(near) | (bits & kSign)) + 0.0f;
      const int32_t other = magnitude > kInfinity ? kNan : bits;
      rounded[i] =
          std::bit_cast<float>(magnitude < kInfinity ? std::bit_cast<int32_t>(sent) : other);
      const float off = value[i] - sent;
      lost[i] = std::bit_cast<float>(magnitude < kInfinity ? std::bit_cast<int32_t>(off) : 0);
    }
  }

  /// Returns the codes of values.
  std::array<int8_t, kLanes> codes(const Lanes& value) const {
    std::array<int32_t, kLanes> wide;
    for (size_t i = 0; i < kLanes; ++i) {
      const auto bits = std::bit_cast<int32_t>(value[i]);
      const int32_t magnitude = bits & kMagnitude;
      const int32_t near = nearest(magnitude);
      const auto n = static_cast<int32_t>(std::bit_cast<float>(near) * per_step_);
      // `steps` counts codes by the exponent and the four bits behind the leading one, as code_of()
      // does.
      const int32_t steps = (near >> (kMantissa - 4)) - (e_ + kBias + 4 - 1) * 16;
      const int32_t code = n < 16 ? n : steps;
      const int32_t sign = bits >> 31;
      const int32_t finite = (code ^ sign) - sign;
      const int32_t infinite = (kInt8Infinity ^ sign) - sign;
      const int32_t other = magnitude > kInfinity ? kInt8Nan : infinite;
      wide[i] = magnitude < kInfinity ? finite : other;
    }
    std::array<int8_t, kLanes> narrow;
    for (size_t i = 0; i < kLanes; ++i) narrow[i] = static_cast<int8_t>(wide[i]);
    return narrow;
  }

 private:
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000, kNan = 0x7fc00000;
  static constexpr int32_t kSign = std::numeric_limits<int32_t>::min();

  /// Returns nearest_n() times 2^e, for the magnitude of a finite value.
  int32_t nearest(int32_t magnitude) const {
    const int32_t clamped = magnitude < largest_ ? magnitude : largest_;
    const int32_t own = clamped >> kMantissa, least = e_ + kBias + 4;
    const int32_t exponent = own > least ? own : least;
    // The sum has no room for more than the four bits behind the first one, or for fractions.
    const auto shifter =
        std::bit_cast<float>((exponent + kMantissa - 4) << kMantissa | 1 << (kMantissa - 1));
    return std::bit_cast<int32_t>((std::bit_cast<float>(clamped) + shifter) - shifter);
  }

  int32_t e_;
  int32_t largest_;
  float per_step_;
};

/// Returns the scale of values.
template <class A>
ScaleByte scale_of_values(const A* value, size_t n) {
  constexpr size_t kLanes = 8;
  std::array<Key<A>, kLanes> largest{};
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      largest[lane] = std::max(largest[lane], scaled_key(value[j + lane]));
  for (; j < n; ++j) largest[0] = std::max(largest[0], scaled_key(value[j]));
  return scale_of<A>(*std::ranges::max_element(largest));
}

/// Rounds n values with the same scale. `lost` gets the rounding errors.
template <class A>
void round_values(const A* value, size_t n, ScaleByte scale, A* rounded, A* lost) {
  size_t j = 0;
  if constexpr (std::is_same_v<A, float>) {
    if (FloatScale::serves(scale)) {
      const FloatScale fast(scale);
      for (FloatScale::Lanes in, out, off; j + in.size() <= n; j += in.size()) {
        std::memcpy(in.data(), value + j, sizeof in);
        fast.round(in, out, off);
        std::memcpy(rounded + j, out.data(), sizeof out);
        std::memcpy(lost + j, off.data(), sizeof off);
      }
    }
  }
  for (; j < n; ++j) {
    const A one = value[j], sent = rounded_to_int8(one, scale);
    rounded[j] = sent;
    lost[j] = finite(one) ? one - sent : A{0};
  }
}

/// Writes the codes of n values with the same scale.
template <class A>
void put_codes(std::byte* at, const A* value, size_t n, ScaleByte scale) {
  size_t j = 0;
  if constexpr (std::is_same_v<A, float>) {
    if (FloatScale::serves(scale)) {
      const FloatScale fast(scale);
      for (FloatScale::Lanes in; j + in.size() <= n; j += in.size()) {
        std::memcpy(in.data(), value + j, sizeof in);
        std::memcpy(at + j, fast.codes(in).data(), in.size());
      }
    }
  }
  for (; j < n; ++j) at[j] = static_cast<std::byte>(to_int8(value[j], scale).code);
}

/// Rounds the values of a vector to 8 bits. `lost` gets the rounding errors.
template <class A, class I>
void round_to_int8(const View<A, I>& in, size_t block_size, unsigned bits, A* rounded, A* lost) {
  for_groups(
      in.nnz, [&](size_t j) { return in.at(j) >> bits; },
      [&](size_t first, size_t last, uint64_t) {
        const size_t begin = first * block_size, n = (last - first) * block_size;
        const A* const value = in.value + begin;
        round_values(value, n, scale_of_values(value, n), rounded + begin, lost + begin);
      });
}

/// Writes the scales of a message, and its values, which are rounded to 8 bits already. Groups
/// without entries have 0 instead of a scale. `distance_of` returns the distance of an entry from
/// the region's start.
template <class A, class Distance>
void put_int8_values(std::byte* at, const A* value, const WireShape& shape,
                     const RegionFormat& format, const Distance& distance_of) {
  std::byte* const codes = at + shape.scales;
  const bool by_group = format.scale_by_group(shape);
  if (shape.scales > 0) std::memset(at, 0, shape.scales);
  for_groups(
      shape.nnz, [&](size_t j) { return format.scales.of(distance_of(j)); },
      [&](size_t first, size_t last, uint64_t group) {
        const size_t begin = first * format.block_size, n = (last - first) * format.block_size;
        const ScaleByte scale = scale_of_values(value + begin, n);
        const size_t scales = by_group ? 1 : last - first;
        std::fill_n(at + (by_group ? group : first), scales, std::byte{scale});
        put_codes(codes + begin, value + begin, n, scale);
      });
}

/// Converts the values of a message that were sent in 8 bits, behind their scales. `distance_of`
/// returns the distance of an entry from the region's start.
template <class A, class Distance>
void get_int8_values(const std::byte* at, const WireShape& shape, const RegionFormat& format,
                     const Distance& distance_of, A* out) {
  static constexpr auto kUnscaled = [] {
    std::array<A, 256> values{};
    for (int code = -128; code < 128; ++code)
      values[static_cast<uint8_t>(code)] =
          from_int8<A>(Int8{static_cast<int8_t>(code)}, ScaleByte{kScaleBias});
    return values;
  }();
  const std::byte* const codes = at + shape.scales;
  const bool by_group = format.scale_by_group(shape);
  const auto convert = [&](size_t first, size_t last, size_t scale_at) {
    const auto scale = std::min<int>(static_cast<int>(at[scale_at]), kLargestScale);
    const A factor = static_cast<A>(power_of_two(scale - kScaleBias));
    for (size_t v = first * format.block_size; v < last * format.block_size; ++v)
      out[v] = kUnscaled[static_cast<uint8_t>(codes[v])] * factor;
  };
  if (!by_group) {
    for (size_t j = 0; j < shape.nnz; ++j) convert(j, j + 1, j);
    return;
  }
  for_groups(
      shape.nnz, [&](size_t j) { return format.scales.of(distance_of(j)); }, convert);
}

}  // namespace sparsecoll::host
