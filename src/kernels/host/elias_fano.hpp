// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elias-Fano coding of indices, in the layout of EliasFanoLayout.

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "kernels/host/sparse_simd.hpp"
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

/// Writes a string of bits in words of 64.
class BitWriter {
 public:
  explicit BitWriter(std::byte* at) : at_(at) {}
  /// Appends at most 63 bits. All higher bits must be 0.
  void put(uint64_t bits, unsigned n) {
    word_ |= bits << filled_;
    filled_ += n;
    if (filled_ < 64) return;
    store_word(at_, w_++, word_);
    filled_ -= 64;
    word_ = bits >> (n - filled_);
  }
  /// Returns the bits of the last word, which is not stored yet.
  uint64_t rest() const { return word_; }

 private:
  std::byte* at_;
  uint64_t word_ = 0, w_ = 0;
  unsigned filled_ = 0;
};

/// Writes the low bits of the indices, four at a time if they are short. Returns the bits of the
/// last word, which is not stored yet.
template <class I>
uint64_t put_low_bits(std::byte* at, std::span<const I> index, uint64_t begin,
                      const EliasFanoLayout& code) {
  BitWriter writer(at);
  const auto low = [&](size_t j) -> uint64_t { return (index[j] - begin) & code.mask(); };
  size_t j = 0;
  if (4 * code.low < 64)
    for (; j + 4 <= index.size(); j += 4) {
      const uint64_t two = low(j) | low(j + 1) << code.low;
      const uint64_t next = low(j + 2) | low(j + 3) << code.low;
      writer.put(two | next << 2 * code.low, 4 * code.low);
    }
  for (; j < index.size(); ++j) writer.put(low(j), code.low);
  return writer.rest();
}

/// Writes coded indices. `loops` are those of this machine, or null for the plain loops.
template <class I>
void put_coded(std::byte* at, std::span<const I> index, const Region& region,
               const SparseLoops* loops) {
  const EliasFanoLayout code(index.size(), region.length());
  if constexpr (sizeof(I) == 4)
    if (loops && !index.empty() && code.low <= kMaxSimdLowBits &&
        region.length() <= uint64_t{1} << 31)
      return loops->encode({index.data(), index.size(), static_cast<uint32_t>(region.begin),
                            code.low, code.unary, code.words(), at});
  uint64_t word = put_low_bits(at, index, region.begin, code);
  uint64_t w = code.unary / 64, one = code.unary;
  for (const I each : index) {
    const uint64_t bit = one++ + ((each - region.begin) >> code.low);
    for (; w < bit / 64; word = 0) store_word(at, w++, word);
    word |= uint64_t{1} << (bit % 64);
  }
  for (; w < code.words(); word = 0) store_word(at, w++, word);
}

/// Reads coded indices. The message must be large enough for the header's number of entries.
class EliasFanoReader {
 public:
  EliasFanoReader(const std::byte* at, const WireHeader& header, const SparseLoops* loops)
      : at_(at), nnz_(header.nnz), length_(header.length), code_(nnz_, length_), loops_(loops) {}

  /// Writes `begin` plus the distance of each entry. Returns whether there are as many as the
  /// header has, strictly rising and inside the region.
  template <class I>
  bool get(uint64_t begin, I* out) const {
    if constexpr (sizeof(I) == 4)
      if (loops_ && simd_can_decode())
        // A distance that is too large for I wraps to an index below `begin`.
        return loops_->decode({at_, nnz_, code_.low, code_.unary, code_.end,
                               static_cast<uint32_t>(begin), out}) &&
               out[0] >= begin && out[nnz_ - 1] - begin < length_;
    // A word of ones and zeros follows the low bits. So 8 bytes can be read from any byte of the
    // low bits on. They hold at least 57 bits from any bit of that byte on.
    if (code_.low <= 57 && code_.end - code_.unary >= 64) return get_by(near, begin, out);
    return get_by(anywhere, begin, out);
  }

 private:
  bool simd_can_decode() const {
    return code_.low <= kMaxSimdLowBits && code_.words() * 8 - code_.unary / 8 >= kSimdTail &&
           length_ <= uint64_t{1} << 31;
  }

  template <class Low, class I>
  bool get_by(const Low& low, uint64_t begin, I* out) const {
    const EliasFanoLayout code = code_;  // a copy, which writes to `out` cannot change
    const uint64_t nnz = nnz_, length = length_;
    uint64_t j = 0, floor = 0;
    for (uint64_t w = code.unary / 64; w < code.words(); ++w) {
      uint64_t ones = load<uint64_t>(at_, w);
      if (w == code.unary / 64) ones &= ~uint64_t{0} << (code.unary % 64);
      if (w == code.end / 64 && ones >> (code.end % 64) != 0) return false;
      if (static_cast<uint64_t>(std::popcount(ones)) > nnz - j) return false;
      const uint64_t first = w * 64 - code.unary;
      for (; ones != 0; ones &= ones - 1, ++j) {
        const uint64_t high = first + static_cast<uint64_t>(std::countr_zero(ones)) - j;
        const uint64_t distance = high << code.low | low(at_, code, j);
        if (distance - floor >= length - floor) return false;  // not rising, or outside
        floor = distance + 1;
        out[j] = static_cast<I>(begin + distance);
      }
    }
    return j == nnz;
  }

  /// Returns the low bits of entry j.
  static uint64_t near(const std::byte* at, const EliasFanoLayout& code, uint64_t j) {
    const uint64_t bit = j * code.low;
    return load<uint64_t>(at + bit / 8, 0) >> (bit % 8) & code.mask();
  }
  static uint64_t anywhere(const std::byte* at, const EliasFanoLayout& code, uint64_t j) {
    const uint64_t bit = j * code.low, word = bit / 64, shift = bit % 64;
    uint64_t low = load<uint64_t>(at, word) >> shift;
    if (shift + code.low > 64) low |= load<uint64_t>(at, word + 1) << (64 - shift);
    return low & code.mask();
  }

  const std::byte* const at_;
  const uint64_t nnz_;
  const uint64_t length_;
  const EliasFanoLayout code_;
  const SparseLoops* const loops_;
};

}  // namespace sparsecoll::host
