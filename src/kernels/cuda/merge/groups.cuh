// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second step of unpack.cuh: a few consecutive groups of a message, words of bits, whose
// entries are put by one block of threads.

#include "kernels/cuda/wire/message_reader.cuh"

namespace sparsecoll::cuda {

/// A tile of groups in shared memory, all relative to where it begins in the message.
struct GroupTile {
  static constexpr unsigned kEach = 2;  ///< of a thread
  static constexpr unsigned kGroups = kEach * kThreads;
  static constexpr unsigned kWindow = 4096;
  static constexpr unsigned kNext = 0x8000;  ///< set: the bit before is a one, too
  static_assert(kGroups * 64 <= kNext);

  BlockSum<uint64_t>::Storage sum;
  unsigned first[kGroups];     ///< entry of each group; more than fit are a fault found before
  uint16_t position[kWindow];  ///< of the bits of consecutive entries, and kNext

  /// Sets first[]; returns how many entries the tile has.
  template <class Reader>
  __device__ uint64_t count(const Reader& reader, const GroupAt& begin) {
    unsigned count[kEach];
    uint64_t own = 0, all = 0;
    for (unsigned q = 0; q < kEach; ++q) {
      const uint64_t g = begin.group + threadIdx.x * kEach + q;
      count[q] = g < reader.groups() ? reader.count(g) : 0;
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

  /// Puts these entries. A thread leaves the positions of its word's bits in a window of
  /// consecutive entries, which is then written as a whole. Every thread returns whether the
  /// indices that it has seen are strictly rising and inside the region.
  template <class Reader>
  __device__ bool put_bits(const Reader& reader, const GroupAt& begin, const Share& entries) {
    const auto low = static_cast<unsigned>(entries.begin - begin.entries);
    const auto high = static_cast<unsigned>(entries.end - begin.entries);
    bool sound = true;
    for (unsigned q = 0; q < kEach; ++q) {
      const unsigned g = q * kThreads + threadIdx.x;
      const bool inside = begin.group + g < reader.groups();
      uint64_t bits = inside ? reader.word(begin.group + g) : 0;
      const uint64_t next = inside ? bits << 1 | reader.last_bit_before(begin.group + g) : 0;
      unsigned at = first[g];
      const unsigned end = q + 1 < kEach ? std::min(first[(q + 1) * kThreads], high) : high;
      for (unsigned window = std::max(first[q * kThreads], low); window < end; window += kWindow) {
        const unsigned n = end - window < kWindow ? end - window : kWindow;
        for (; bits != 0 && at < window + n; bits &= bits - 1, ++at) {
          const auto bit = static_cast<unsigned>(__ffsll(bits) - 1);
          if (at >= window)
            position[at - window] =
                static_cast<uint16_t>(g * 64 + bit + (next >> bit & 1 ? kNext : 0));
        }
        __syncthreads();
        const uint64_t entry = begin.entries + window;
        const auto from = reader.from({begin.group, entry});
        in_batches<kThreads, Reader::kBatch>(
            threadIdx.x, n,
            [&](size_t j) {
              const unsigned p = position[j];
              return reader.find(from, {static_cast<unsigned>(j), p % kNext, p >= kNext});
            },
            [&](size_t j, uint64_t distance) {
              sound &= distance != Reader::kUnsound;
              reader.put_index(entry + j, distance);
            });
        __syncthreads();  // before the next window's
      }
    }
    return sound;
  }
};

}  // namespace sparsecoll::cuda
