// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Coded indices, as WireCode describes them.

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

template <class W>
W load(const std::byte* at, size_t j) {
  W value;
  std::memcpy(&value, at + j * sizeof(W), sizeof(W));
  return value;
}

inline void store_word(std::byte* at, uint64_t w, uint64_t word) {
  std::memcpy(at + w * 8, &word, 8);
}

/// The low bits of the indices, one after another. Returns what the last word has of them, which is
/// not stored yet unless it is full.
template <class I>
uint64_t put_low_bits(std::byte* at, std::span<const I> index, uint64_t begin,
                      const WireCode& code) {
  uint64_t word = 0, w = 0;
  unsigned filled = 0;
  for (const I each : index) {
    const uint64_t low = (each - begin) & code.mask();
    word |= low << filled;
    filled += code.low;
    if (filled < 64) continue;
    store_word(at, w++, word);
    filled -= 64;
    word = low >> (code.low - filled);
  }
  return word;
}

template <class I>
void put_coded(std::byte* at, std::span<const I> index, const Region& region) {
  const WireCode code(index.size(), region.length());
  uint64_t word = put_low_bits(at, index, region.begin, code);
  uint64_t w = code.unary / 64, one = code.unary;
  for (const I each : index) {
    const uint64_t bit = one++ + ((each - region.begin) >> code.low);
    for (; w < bit / 64; word = 0) store_word(at, w++, word);
    word |= uint64_t{1} << (bit % 64);
  }
  for (; w < code.words(); word = 0) store_word(at, w++, word);
}

/// The low bits of entries.
class LowBits {
 public:
  LowBits(const std::byte* at, const WireCode& code)
      : at_(at), low_(code.low), mask_(code.mask()) {}

  /// From the one or two words that have them.
  uint64_t anywhere(uint64_t j) const {
    const uint64_t bit = j * low_, word = bit / 64, shift = bit % 64;
    const uint64_t first = load<uint64_t>(at_, word) >> shift;
    if (shift + low_ <= 64) return first & mask_;
    return (first | load<uint64_t>(at_, word + 1) << (64 - shift)) & mask_;
  }
  /// From the 8 bytes that begin with the first byte that has some: if these lie inside of the
  /// string and hold all, as they do up to 57 bits.
  uint64_t near(uint64_t j) const {
    const uint64_t bit = j * low_;
    return load<uint64_t>(at_ + bit / 8, 0) >> (bit % 8) & mask_;
  }

 private:
  const std::byte* at_;
  uint64_t low_;
  uint64_t mask_;
};

/// Writes the distances from the region's start, by low(j), and says whether there are as many as
/// the header has, strictly rising and inside the region.
template <class I, class Low>
bool get_coded_by(const std::byte* at, const WireHeader& header, const Low& low, uint64_t begin,
                  I* out) {
  const WireCode code(header.nnz, header.length);
  uint64_t j = 0, floor = 0;
  bool sound = true;
  for (uint64_t w = code.unary / 64; w < code.words(); ++w) {
    uint64_t bits = load<uint64_t>(at, w);
    if (w == code.unary / 64) bits &= ~uint64_t{0} << (code.unary % 64);
    if (w == code.end / 64 && bits >> (code.end % 64) != 0) return false;
    if (static_cast<uint64_t>(std::popcount(bits)) > header.nnz - j) return false;
    const uint64_t first = w * 64 - code.unary;
    for (; bits != 0; bits &= bits - 1, ++j) {
      const uint64_t high = first + static_cast<uint64_t>(std::countr_zero(bits)) - j;
      const uint64_t distance = high << code.low | low(j);
      sound &= distance >= floor && distance < header.length;
      floor = distance + 1;
      out[j] = static_cast<I>(begin + distance);
    }
  }
  return sound && j == header.nnz;
}

template <class I>
bool get_coded(const std::byte* at, const WireHeader& header, uint64_t begin, I* out) {
  if (header.nnz == 0) return true;
  const WireCode code(header.nnz, header.length);
  const LowBits low(at, code);
  if (code.low <= 57 && code.end - code.unary >= 64)
    return get_coded_by(
        at, header, [&](uint64_t j) { return low.near(j); }, begin, out);
  return get_coded_by(
      at, header, [&](uint64_t j) { return low.anywhere(j); }, begin, out);
}

}  // namespace sparsecoll::host
