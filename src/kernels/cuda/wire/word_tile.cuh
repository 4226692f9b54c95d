// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second step of unpack.cuh: a block decodes a tile, a few consecutive 64-bit words whose one
// bits stand for entries.

#include "kernels/cuda/wire/message_reader.cuh"

namespace sparsecoll::cuda {

/// A tile in shared memory. All positions are relative to its first word.
struct WordTile {
  static constexpr unsigned kEach = 2;  ///< words of a thread
  static constexpr unsigned kWords = kEach * kThreads;
  static constexpr unsigned kWindow = 4096;
  static constexpr unsigned kFollows = 0x8000;  ///< flag: the bit before is a one, too
  static_assert(kWords * 64 <= kFollows);

  BlockSum<uint64_t>::Storage sum;
  /// first entry of each word; step 1 has rejected messages with more entries than fit
  unsigned first[kWords];
  uint16_t position[kWindow];  ///< positions of the bits of consecutive entries, with kFollows

  /// Sets first[] for the tile that begins at `begin`. Returns its number of entries.
  template <class Reader>
  __device__ uint64_t count(const Reader& reader, const WordPosition& begin) {
    unsigned count[kEach];
    uint64_t own = 0, all = 0;
    for (unsigned q = 0; q < kEach; ++q) {
      const uint64_t w = begin.word + threadIdx.x * kEach + q;
      count[q] = w < reader.words() ? reader.count(w) : 0;
      own += count[q];
    }
    uint64_t before = BlockSum<uint64_t>(sum).before(own, &all);
    for (unsigned q = 0; q < kEach; ++q) {
      first[threadIdx.x * kEach + q] = static_cast<unsigned>(before);
      before += count[q];
    }
    __syncthreads();
    return all;
  }

  /// Writes the indices of these entries. Threads store the positions of their words' bits in a
  /// window of consecutive entries; then the block writes the window. Returns, in every thread,
  /// whether the indices that it has decoded rise strictly and lie inside the region.
  template <class Reader>
  __device__ bool write_entries(const Reader& reader, const WordPosition& begin,
                                const Share& entries) {
    const auto low = static_cast<unsigned>(entries.begin - begin.entries);
    const auto high = static_cast<unsigned>(entries.end - begin.entries);
    bool sound = true;
    for (unsigned q = 0; q < kEach; ++q) {
      const unsigned w = q * kThreads + threadIdx.x;
      const bool inside = begin.word + w < reader.words();
      uint64_t bits = inside ? reader.word(begin.word + w) : 0;
      const uint64_t next = inside ? bits << 1 | reader.last_bit_before(begin.word + w) : 0;
      unsigned at = first[w];
      const unsigned end = q + 1 < kEach ? std::min(first[(q + 1) * kThreads], high) : high;
      for (unsigned window = std::max(first[q * kThreads], low); window < end; window += kWindow) {
        const unsigned n = end - window < kWindow ? end - window : kWindow;
        for (; bits != 0 && at < window + n; bits &= bits - 1, ++at) {
          const auto bit = static_cast<unsigned>(__ffsll(bits) - 1);
          if (at >= window)
            position[at - window] =
                static_cast<uint16_t>(w * 64 + bit + (next >> bit & 1 ? kFollows : 0));
        }
        __syncthreads();
        const uint64_t entry = begin.entries + window;
        const auto base = reader.base_of({begin.word, entry});
        in_batches<kThreads, Reader::kBatch>(
            threadIdx.x, n,
            [&](size_t j) {
              const unsigned p = position[j];
              return reader.distance_of(base,
                                        {static_cast<unsigned>(j), p % kFollows, p >= kFollows});
            },
            [&](size_t j, uint64_t distance) {
              sound &= distance != Reader::kUnsound;
              reader.write_index(entry + j, distance);
            });
        __syncthreads();  // before the next window overwrites this one
      }
    }
    return sound;
  }
};

}  // namespace sparsecoll::cuda
