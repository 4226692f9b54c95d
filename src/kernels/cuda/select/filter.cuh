// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The filter pass of a sampled selection (sampled_select.cuh): one pass over a long gradient
// extracts the few candidates that can be selected.
//
// 1. Bound. A sample of the gradient gives a bound, a key that slightly more than k elements are
//    expected to reach.
// 2. Filter. acc = gradient + residual. An element below the bound is written to the new residual
//    at once. An element that reaches the bound becomes a candidate, and its residual becomes zero.
//    Every warp takes tiles of consecutive elements and writes the candidates of a tile next to
//    each other, into slots of the candidate buffer that one atomic operation reserves for many
//    tiles. A table says where the candidates of each tile are, so that step 3 finds them in index
//    order.
// 3. Select (sampled_select.cuh). The exact selection among the candidates. Rejected candidates
//    return to the residual. If fewer than k elements reach the bound, or the candidate buffer
//    overflows, the whole vector is read again. The result is the same; only the call takes longer.
//
// An element's residual is zeroed only when the candidate has its slot, and the old residual is
// never written, so no value is lost in either case.
//
// Cost for float: 12 bytes an element with feedback, 4 without, and 8 bytes of table a tile. A
// candidate is written once. Its value is read once for every radix digit, and value and offset are
// read twice at the end.

#include <cstring>

#include "kernels/cuda/select/select.cuh"

namespace sparsecoll::cuda {

/// The candidates of one tile: `count` of them from slot `first` on.
struct TileCandidates {
  uint32_t first;
  uint32_t count;
};

/// Numbers that the three kernels share. They are zero at first.
struct FilterState {
  uint64_t reserved;  ///< slots reserved; if more than the capacity, some candidates have none
  uint64_t found;     ///< elements that reach the bound
  uint64_t bound;
};

template <class T>
struct CandidateBuffer {
  static constexpr unsigned kVector = 16 / sizeof(T);  ///< elements of a 16-byte access
  /// elements of a tile that one lane holds
  static constexpr unsigned kItems = sizeof(T) == 8 ? 8 : 16;
  static constexpr unsigned kRows = kItems / kVector;
  static constexpr size_t kTileItems = 32 * kItems;

  Accumulation<T>* value;
  uint16_t* offset;  ///< index of the candidate within its tile
  TileCandidates* table;
  size_t tiles;
  size_t capacity;
  FilterState* state;
};

/// Slots that a warp reserves at a time.
inline constexpr size_t kAllocationUnit = 512;

/// Loads n elements from `from` on. Only `available` of them exist; the others are set to zero.
/// `vectorized`: uses 16-byte accesses if all n are available.
template <unsigned n, class V>
__device__ void load_items(const V* from, size_t available, bool vectorized, V (&to)[n]) {
  if (vectorized && available >= n) {
    for (unsigned c = 0; c < n * sizeof(V) / 16; ++c) {
      const uint4 vector = __ldcs(reinterpret_cast<const uint4*>(from) + c);
      std::memcpy(to + c * (16 / sizeof(V)), &vector, 16);
    }
  } else {
    for (unsigned e = 0; e < n; ++e) to[e] = e < available ? from[e] : V{};
  }
}

template <unsigned n, class V>
__device__ void store_items(const V (&from)[n], V* to, size_t available, bool vectorized) {
  if (vectorized && available >= n) {
    for (unsigned c = 0; c < n * sizeof(V) / 16; ++c) {
      uint4 vector;
      std::memcpy(&vector, from + c * (16 / sizeof(V)), 16);
      __stcs(reinterpret_cast<uint4*>(to) + c, vector);
    }
  } else {
    for (unsigned e = 0; e < n; ++e)
      if (e < available) to[e] = from[e];
  }
}

__device__ inline bool aligned16(const void* at) {
  return reinterpret_cast<uintptr_t>(at) % 16 == 0;
}

/// The slots that one warp has reserved in the candidate buffer. All lanes hold the same state.
template <class T>
class WarpAllocator {
 public:
  __device__ explicit WarpAllocator(const CandidateBuffer<T>& buffer) : buffer_(buffer) {}

  /// Allocates n consecutive slots; *first is the first of them. Returns false if the buffer is
  /// full.
  __device__ bool allocate(unsigned n, size_t* first) {
    if (n > left_) {
      release();
      const size_t want = n > kAllocationUnit ? n : kAllocationUnit;
      uint64_t at = 0;
      if (threadIdx.x % 32 == 0) at = add_to(&buffer_.state->reserved, want);
      at = __shfl_sync(kFullWarp, at, 0);
      if (at + want > buffer_.capacity) return false;
      at_ = at;
      left_ = want;
    }
    *first = at_;
    at_ += n;
    left_ -= n;
    return true;
  }
  /// Fills the unused slots with zeros, which are never selected.
  __device__ void release() {
    for (size_t j = threadIdx.x % 32; j < left_; j += 32) buffer_.value[at_ + j] = 0;
    left_ = 0;
  }

 private:
  const CandidateBuffer<T>& buffer_;
  size_t at_ = 0;
  size_t left_ = 0;
};

/// A tile in the registers of a warp. A lane holds kVector consecutive elements of every row.
template <class T>
struct WarpTile {
  using Acc = Accumulation<T>;
  static constexpr unsigned kVector = CandidateBuffer<T>::kVector,
                            kItems = CandidateBuffer<T>::kItems, kRows = CandidateBuffer<T>::kRows;

  Acc acc[kRows][kVector];

  __device__ static size_t offset_of(unsigned row) {
    return (row * 32 + threadIdx.x % 32) * kVector;
  }

  /// Loads the elements of the tile that begins at `first`; the vector has `count` elements.
  __device__ void load(const T* values, const Acc* previous, size_t first, size_t count) {
    const bool vectorized = aligned16(values), previous_vectorized = aligned16(previous);
    T own[kRows][kVector];
    for (unsigned r = 0; r < kRows; ++r) {
      const size_t i = first + offset_of(r);
      load_items(values + i, i < count ? count - i : 0, vectorized, own[r]);
      if (previous)
        load_items(previous + i, i < count ? count - i : 0, previous_vectorized, acc[r]);
    }
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned e = 0; e < kVector; ++e) {
        const Acc value = sparsecoll::widen(own[r][e]);
        acc[r][e] = previous ? value + acc[r][e] : value;
      }
  }

  /// Returns a mask: bit row * kVector + e says whether that element's key reaches `bound`.
  __device__ unsigned mask_reaching(uint64_t bound) const {
    unsigned mask = 0;
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned e = 0; e < kVector; ++e)
        mask |= (key_of(acc[r][e]) >= bound ? 1u : 0u) << (r * kVector + e);
    return mask;
  }

  /// Stores the tile in the new residual, with zeros for the candidates in `mask`.
  __device__ void store_rest(Acc* next, size_t first, size_t count, unsigned mask) const {
    const bool vectorized = aligned16(next);
    for (unsigned r = 0; r < kRows; ++r) {
      const size_t i = first + offset_of(r);
      Acc rest[kVector];
      for (unsigned e = 0; e < kVector; ++e)
        rest[e] = mask >> (r * kVector + e) & 1 ? Acc{0} : acc[r][e];
      store_items(rest, next + i, i < count ? count - i : 0, vectorized);
    }
  }

  /// Writes the candidates in `mask` in index order, from slot `at` on. One prefix sum over the
  /// lanes counts the candidates of all rows at once: each row has its own bits of the sum.
  __device__ void write_candidates(const CandidateBuffer<T>& buffer, size_t at,
                                   unsigned mask) const {
    constexpr unsigned kBits = 32 / kRows, kMax = (1u << kBits) - 1;
    static_assert(32 * kVector <= kMax);
    unsigned own = 0;
    for (unsigned r = 0; r < kRows; ++r)
      own |= static_cast<unsigned>(__popc(row_of(mask, r))) << r * kBits;
    unsigned sum = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned before = __shfl_up_sync(kFullWarp, sum, step);
      if (threadIdx.x % 32 >= step) sum += before;
    }
    const unsigned all = __shfl_sync(kFullWarp, sum, 31), earlier = sum - own;
    Acc* const value = buffer.value + at;
    uint16_t* const offset = buffer.offset + at;
    unsigned first = 0;
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned count = all >> r * kBits & kMax;
      if (count == 0) continue;
      unsigned to = first + (earlier >> r * kBits & kMax);
      for (unsigned e = 0; e < kVector; ++e) {
        if (!(mask >> (r * kVector + e) & 1)) continue;
        value[to] = acc[r][e];
        offset[to] = static_cast<uint16_t>(offset_of(r) + e);
        ++to;
      }
      first += count;
    }
  }

 private:
  __device__ static unsigned row_of(unsigned mask, unsigned row) {
    return mask >> (row * kVector) & ((1u << kVector) - 1);
  }
};

/// The filter pass over the whole vector.
template <class T>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    filter_candidates(AccumulatedGradient<T> gradient, CandidateBuffer<T> buffer) {
  const uint64_t bound = buffer.state->bound;
  WarpAllocator<T> allocator(buffer);
  uint64_t found = 0;
  const size_t warps = size_t{gridDim.x} * kWarps;
  for (size_t t = size_t{blockIdx.x} * kWarps + threadIdx.x / 32; t < buffer.tiles; t += warps) {
    const size_t first = t * CandidateBuffer<T>::kTileItems;
    WarpTile<T> tile;
    tile.load(gradient.values, gradient.previous, first, gradient.count);
    unsigned mask = tile.mask_reaching(bound);
    const unsigned n = __reduce_add_sync(kFullWarp, static_cast<unsigned>(__popc(mask)));
    found += n;
    size_t at = 0;
    const bool fits = n > 0 && allocator.allocate(n, &at);
    if (!fits) mask = 0;
    if (gradient.next) tile.store_rest(gradient.next, first, gradient.count, mask);
    if (fits) tile.write_candidates(buffer, at, mask);
    if (threadIdx.x % 32 == 0) buffer.table[t] = {static_cast<uint32_t>(at), fits ? n : 0};
  }
  allocator.release();
  if (threadIdx.x % 32 == 0 && found > 0) add_to(&buffer.state->found, found);
}

}  // namespace sparsecoll::cuda
