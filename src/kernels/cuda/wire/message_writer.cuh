// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes a message on the device, 8 bytes at a time.

#include "core/int8.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/view.cuh"
#include "kernels/cuda/wire/headers.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

/// A message that is not written yet: its format and size.
struct MessagePlan {
  Region region;
  WireShape shape;
  Representation representation;
  size_t first;     ///< first entry of the message
  uint64_t offset;  ///< position of the message in the slab, in bytes
};

/// Returns the position of the message's values, and of the scales before them, in the slab.
__device__ inline uint64_t values_offset(const MessagePlan& plan) {
  return plan.offset + sizeof(WireHeader) + wire_index_bytes(plan.representation, plan.shape);
}

/// A range of 8-byte words.
struct WordRange {
  uint64_t begin;
  uint64_t end;

  /// Returns the part of the range that lies in [low, high), relative to `low`.
  __device__ WordRange within(uint64_t low, uint64_t high) const {
    const uint64_t from = begin > low ? begin : low, to = end < high ? end : high;
    return {from - low, from < to ? to - low : from - low};
  }
};

inline constexpr unsigned kWindowWords = 64;  ///< words of bits that a warp makes at a time

/// Writes parts of one message of a tensor of T, whose values are sent as W. All lanes of a warp
/// must call every function. Values of 8 bits are encoded before (int8.cuh): `encoded` has them
/// where the slab is to have them.
template <class W, class T, class I>
class MessageWriter {
 public:
  __device__ MessageWriter(const View<Accumulation<T>, I>& in, const MessagePlan& plan,
                           std::byte* slab, const std::byte* encoded)
      : plan_(plan),
        index_(in.index ? in.index + plan.first : nullptr),
        value_(in.value + plan.first * (plan.shape.value_size / sizeof(W))),
        word_(reinterpret_cast<uint64_t*>(slab + plan.offset)),
        index_words_(wire_index_bytes(plan.representation, plan.shape) / 8),
        encoded_(kIsEncoded ? encoded + values_offset(plan) : nullptr) {}

  /// Writes these words of the message. They count from its start.
  __device__ void write(const WordRange& words) const {
    constexpr uint64_t kHeader = sizeof(WireHeader) / 8;
    const uint64_t values = kHeader + index_words_;
    write_header(words.within(0, kHeader));
    write_indices(words.within(kHeader, values));
    write_values(words.within(values, words.end));
  }

 private:
  static constexpr uint64_t kValues = 8 / sizeof(W);  // values in a word
  static constexpr bool kIsEncoded = std::is_same_v<W, Int8>;
  using Bits = std::conditional_t<kIsEncoded, uint8_t, Key<W>>;

  __device__ uint64_t* indices() const { return word_ + sizeof(WireHeader) / 8; }

  template <class Make>
  __device__ static void write_words(uint64_t* to, const WordRange& words, const Make& make) {
    in_batches<32>(words.begin + threadIdx.x % 32, words.end, make,
                   [&](uint64_t w, uint64_t word) { to[w] = word; });
  }

  __device__ void write_header(const WordRange& words) const {
    const HeaderWords header = std::bit_cast<HeaderWords>(WireHeader{
        kWireMagic, kWireVersion, static_cast<uint8_t>(plan_.representation),
        static_cast<uint8_t>(data_type_of<W>()), wire_rounds(data_type_of<W>(), data_type_of<T>()),
        plan_.shape.nnz, plan_.shape.length});
    const uint64_t w = words.begin + threadIdx.x % 32;
    if (w < words.end)
      word_[w] = w == 0 ? header.word[0] : w == 1 ? header.word[1] : header.word[2];
  }

  __device__ void write_indices(const WordRange& words) const {
    switch (plan_.representation) {
      case Representation::coded:
        write_coded(words, {plan_.shape.nnz, plan_.shape.length});
        break;
      case Representation::bitmap:
        write_bits(
            words, [&](uint64_t j) { return offset(j); }, [](uint64_t) { return uint64_t{0}; });
        break;
      case Representation::dense:
      case Representation::plain:  // never planned for a device
        break;
    }
  }

  __device__ void write_coded(const WordRange& words, const EliasFanoLayout& code) const {
    const uint64_t full = code.unary / 64;  // words that hold low bits only
    const auto low_bits = [&](uint64_t w) { return low_word(w, code); };
    write_words(indices(), {words.begin, std::min(words.end, full)}, low_bits);
    write_bits(
        {std::max(words.begin, full), words.end},
        [&](uint64_t j) { return code.unary + j + (offset(j) >> code.low); }, low_bits);
  }

  /// Returns the low bits of entries that lie in word w. A code always has low bits: without them
  /// it would be longer than a bitmap.
  __device__ uint64_t low_word(uint64_t w, const EliasFanoLayout& code) const {
    uint64_t word = 0;
    for (uint64_t j = w * 64 / code.low; j < plan_.shape.nnz && j * code.low < w * 64 + 64; ++j) {
      const uint64_t low = offset(j) & code.mask(), bit = j * code.low;
      word |= bit < w * 64 ? low >> (w * 64 - bit) : low << (bit - w * 64);
    }
    return word;
  }

  /// Returns the distance of entry j from the region's start, or 0 if there is no entry j.
  __device__ uint64_t offset(uint64_t j) const {
    if (j >= plan_.shape.nnz) return 0;
    return (index_ ? __ldg(index_ + j) : plan_.first + j) - plan_.region.begin;
  }

  static constexpr unsigned kWindowBits = kWindowWords * 64;
  static constexpr unsigned kEach = 8;  // consecutive entries of a lane

  /// Returns the warp's window in shared memory.
  __device__ static unsigned* bits_of_warp() {
    __shared__ unsigned of_warp[kWarps][kWindowBits / 32];
    return of_warp[threadIdx.x / 32];
  }

  /// Sets the bits at these rising positions, except those at kWindowBits, and returns how many
  /// they are. One atomic operation for each word, because those of a warp on one word wait for
  /// each other.
  __device__ static unsigned set_bits(unsigned* bits, const unsigned (&at)[kEach]) {
    unsigned number = 0, word = 0, set = 0;
    for (unsigned e = 0; e < kEach; ++e) {  // no early end, so that at[] stays in registers
      const bool inside = at[e] < kWindowBits;
      if (inside && set != 0 && at[e] / 32 != word) {
        atomicOr(&bits[word], set);
        set = 0;
      }
      if (inside) word = at[e] / 32;
      set |= (inside ? 1u : 0u) << at[e] % 32;
      number += inside ? 1 : 0;
    }
    if (set != 0) atomicOr(&bits[word], set);
    return number;
  }

  /// Writes words with a one at position(j) for every entry j, combined with the bits others(w) of
  /// each word w. The positions rise. The entries that a warp reads at a time do not depend on each
  /// other, so it waits for memory once for all of them.
  template <class Position, class Others>
  __device__ void write_bits(const WordRange& words, const Position& position,
                             const Others& others) const {
    if (words.begin >= words.end) return;
    unsigned* const bits = bits_of_warp();
    const unsigned lane = threadIdx.x % 32;
    const uint64_t nnz = plan_.shape.nnz;
    uint64_t j = count_below(nnz, words.begin * 64, position);
    for (uint64_t window = words.begin; window < words.end; window += kWindowWords) {
      for (unsigned w = lane; w < kWindowBits / 32; w += 32) bits[w] = 0;
      __syncwarp();
      unsigned found = 0;
      do {
        unsigned at[kEach];  // positions in the window; kWindowBits if behind it
        for (unsigned e = 0; e < kEach; ++e) {
          const uint64_t entry = j + lane * kEach + e;
          const uint64_t bit = entry < nnz ? position(entry) - window * 64 : kWindowBits;
          at[e] = bit < kWindowBits ? static_cast<unsigned>(bit) : kWindowBits;
        }
        found = __reduce_add_sync(kFullWarp, set_bits(bits, at));
        j += found;
      } while (found == 32 * kEach);
      __syncwarp();
      for (unsigned w = lane; w < kWindowWords && window + w < words.end; w += 32)
        indices()[window + w] = bits[2 * w] | uint64_t{bits[2 * w + 1]} << 32 | others(window + w);
      __syncwarp();
    }
  }

  __device__ void write_values(const WordRange& words) const {
    uint64_t* const to = indices() + index_words_;
    const uint64_t values =
        plan_.shape.scales + plan_.shape.nnz * (plan_.shape.value_size / sizeof(W));
    const uint64_t full = values / kValues;
    write_words(to, {words.begin, std::min(words.end, full)}, [&](uint64_t w) {
      if constexpr (kIsEncoded) {
        return reinterpret_cast<const uint64_t*>(encoded_)[w];
      } else {
        uint64_t word = 0;
        for (uint64_t v = 0; v < kValues; ++v)
          word |= value_bits(w * kValues + v) << (8 * sizeof(W) * v);
        return word;
      }
    });
    // The message may end in the middle of its last word.
    const uint64_t j = full * kValues + threadIdx.x % 32;
    if (words.begin <= full && full < words.end && j < values)
      reinterpret_cast<Bits*>(to)[j] = static_cast<Bits>(value_bits(j));
  }

  __device__ uint64_t value_bits(uint64_t j) const {
    if constexpr (kIsEncoded)
      return static_cast<uint64_t>(encoded_[j]);
    else
      return std::bit_cast<Bits>(narrow<W>(__ldg(value_ + j)));
  }

  const MessagePlan plan_;
  const I* const index_;
  const Accumulation<T>* const value_;
  uint64_t* const word_;
  const uint64_t index_words_;
  const std::byte* const encoded_;
};

}  // namespace sparsecoll::cuda
