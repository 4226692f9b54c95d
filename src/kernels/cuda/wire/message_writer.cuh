// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A message's bytes as the device makes them, 8 at a time.

#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/view.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

/// A message to be written.
struct Draft {
  Region region;
  WireShape shape;
  Representation representation;
  size_t first;     ///< of its entries
  uint64_t offset;  ///< in the slab
};

/// Consecutive words of 8 bytes.
struct Words {
  uint64_t begin;
  uint64_t end;

  /// The part of them that lies in [low, high), counted from low.
  __device__ Words within(uint64_t low, uint64_t high) const {
    const uint64_t from = begin > low ? begin : low, to = end < high ? end : high;
    return {from - low, from < to ? to - low : from - low};
  }
};

/// Words of one message of a tensor of T, whose values travel as W; every function is called by all
/// lanes of a warp.
template <class W, class T, class I>
class MessageWriter {
 public:
  __device__ MessageWriter(const View<Accumulation<T>, I>& in, const Draft& draft, std::byte* slab)
      : draft_(draft),
        index_(in.index ? in.index + draft.first : nullptr),
        value_(in.value + draft.first),
        word_(reinterpret_cast<uint64_t*>(slab + draft.offset)),
        index_words_(wire_index_bytes(draft.representation, draft.shape) / 8) {}

  /// Words of the message, counted from its start.
  __device__ void write(const Words& words) const {
    constexpr uint64_t kHeader = sizeof(WireHeader) / 8;
    const uint64_t values = kHeader + index_words_;
    put_header(words.within(0, kHeader));
    put_indices(words.within(kHeader, values));
    put_values(words.within(values, words.end));
  }

 private:
  static constexpr uint64_t kValues = 8 / sizeof(W);  // in a word

  __device__ uint64_t* indices() const { return word_ + sizeof(WireHeader) / 8; }

  template <class Make>
  __device__ static void put_words(uint64_t* to, const Words& words, const Make& make) {
    in_batches<32>(words.begin + threadIdx.x % 32, words.end, make,
                   [&](uint64_t w, uint64_t word) { to[w] = word; });
  }

  __device__ void put_header(const Words& words) const {
    struct Raw {
      uint64_t word[3];
    };
    const Raw raw = std::bit_cast<Raw>(WireHeader{
        kWireMagic, kWireVersion, static_cast<uint8_t>(draft_.representation),
        static_cast<uint8_t>(data_type_of<W>()), wire_rounds(data_type_of<W>(), data_type_of<T>()),
        draft_.shape.nnz, draft_.shape.length});
    const uint64_t w = words.begin + threadIdx.x % 32;
    if (w < words.end) word_[w] = w == 0 ? raw.word[0] : w == 1 ? raw.word[1] : raw.word[2];
  }

  __device__ void put_indices(const Words& words) const {
    switch (draft_.representation) {
      case Representation::coded:
        put_coded(words, {draft_.shape.nnz, draft_.shape.length});
        break;
      case Representation::bitmap:
        put_bits(
            words, [&](uint64_t j) { return offset(j); }, [](uint64_t) { return uint64_t{0}; });
        break;
      case Representation::dense:
        break;
    }
  }

  __device__ void put_coded(const Words& words, const WireCode& code) const {
    const uint64_t whole = code.unary / 64;  // words of low bits alone
    const auto low_bits = [&](uint64_t w) { return low_word(w, code); };
    put_words(indices(), {words.begin, std::min(words.end, whole)}, low_bits);
    put_bits(
        {std::max(words.begin, whole), words.end},
        [&](uint64_t j) { return code.unary + j + (offset(j) >> code.low); }, low_bits);
  }

  /// What word w has of the entries' low bits. There are some: without them, codes would be longer
  /// than a bitmap.
  __device__ uint64_t low_word(uint64_t w, const WireCode& code) const {
    uint64_t word = 0;
    for (uint64_t j = w * 64 / code.low; j < draft_.shape.nnz && j * code.low < w * 64 + 64; ++j) {
      const uint64_t low = offset(j) & code.mask(), bit = j * code.low;
      word |= bit < w * 64 ? low >> (w * 64 - bit) : low << (bit - w * 64);
    }
    return word;
  }

  /// Entry j's distance from the region's start; 0 where there is no such entry.
  __device__ uint64_t offset(uint64_t j) const {
    if (j >= draft_.shape.nnz) return 0;
    return (index_ ? __ldg(index_ + j) : draft_.first + j) - draft_.region.begin;
  }

  /// 32 words' room in shared memory.
  __device__ static unsigned* bits_of_warp() {
    __shared__ unsigned of_warp[kWarps][64];
    return of_warp[threadIdx.x / 32];
  }

  /// Ones at the rising positions of the entries, position(j), beside what others(w) has of word w.
  template <class Position, class Others>
  __device__ void put_bits(const Words& words, const Position& position,
                           const Others& others) const {
    if (words.begin >= words.end) return;
    unsigned* const bits = bits_of_warp();
    const unsigned lane = threadIdx.x % 32;
    uint64_t j = count_below(draft_.shape.nnz, words.begin * 64, position);
    for (uint64_t w = words.begin; w < words.end; w += 32) {
      bits[lane] = bits[lane + 32] = 0;
      __syncwarp();
      unsigned found = kFullWarp;
      while (found == kFullWarp) {
        const uint64_t bit = position(j + lane) - w * 64;
        const bool inside = j + lane < draft_.shape.nnz && bit < 32 * 64;
        if (inside) atomicOr(&bits[bit / 32], 1u << bit % 32);
        found = __ballot_sync(kFullWarp, inside);
        j += static_cast<unsigned>(__popc(found));
      }
      __syncwarp();
      if (w + lane < words.end)
        indices()[w + lane] =
            bits[2 * lane] | uint64_t{bits[2 * lane + 1]} << 32 | others(w + lane);
      __syncwarp();
    }
  }

  __device__ void put_values(const Words& words) const {
    uint64_t* const to = indices() + index_words_;
    const uint64_t whole = draft_.shape.nnz / kValues;
    put_words(to, {words.begin, std::min(words.end, whole)}, [&](uint64_t w) {
      uint64_t word = 0;
      for (uint64_t v = 0; v < kValues; ++v)
        word |= value_bits(w * kValues + v) << (8 * sizeof(W) * v);
      return word;
    });
    // The message may end inside of its last word.
    const uint64_t j = whole * kValues + threadIdx.x % 32;
    if (words.begin <= whole && whole < words.end && j < draft_.shape.nnz)
      reinterpret_cast<Key<W>*>(to)[j] = static_cast<Key<W>>(value_bits(j));
  }

  __device__ uint64_t value_bits(uint64_t j) const {
    return std::bit_cast<Key<W>>(narrow<W>(__ldg(value_ + j)));
  }

  const Draft draft_;
  const I* const index_;
  const Accumulation<T>* const value_;
  uint64_t* const word_;
  const uint64_t index_words_;
};

}  // namespace sparsecoll::cuda
