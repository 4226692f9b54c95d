// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pass over a long gradient that leaves few candidates to select from:
//
// 1. bound: the key that somewhat more than k elements should reach, guessed from a sample.
// 2. stage: acc = gradient + residual. What is below the bound goes to the new residual at once;
//    what reaches it is staged, with a zero in the residual. Every warp takes strips of consecutive
//    elements in turn and puts a strip's candidates side by side into room that it reserves with
//    one atomic for many strips; a table says where each strip's candidates are, so that later
//    kernels find them in index order.
// 3. finish (accumulate.cuh): the exact selection among the candidates. Those that lose go back to
//    the residual. Where there are fewer than k candidates, or more than there was room for, the
//    whole vector is read again: the same result, later.
//
// An element's residual is zeroed only when it has its place, and the old residual is never
// written, so that nothing is lost on any way. Reads and writes 12 bytes an element with feedback
// and 4 without, for float, and 8 bytes of table a strip. A candidate is written once, its value
// read once for every digit, and all of it twice at the end.

#include <cstring>

#include "kernels/cuda/select/select.cuh"

namespace sparsecoll::cuda {

/// Candidates of one strip: staged from `first` on.
struct StripEntry {
  uint32_t first;
  uint32_t count;
};

/// Numbers that the three kernels share; zero at first.
struct StageState {
  uint64_t taken;  ///< room reserved; more than there is: some found none
  uint64_t found;  ///< elements that reach the bound
  uint64_t bound;
};

template <class T>
struct Stage {
  static constexpr unsigned kVector = 16 / sizeof(T);          ///< elements of one access
  static constexpr unsigned kItems = sizeof(T) == 8 ? 8 : 16;  ///< of a lane in a strip
  static constexpr unsigned kRows = kItems / kVector;
  static constexpr size_t kStrip = 32 * kItems;

  Accumulation<T>* value;
  uint16_t* offset;  ///< in the strip
  StripEntry* table;
  size_t strips;
  size_t room;
  StageState* state;
};

/// Room that a warp reserves at once.
inline constexpr size_t kReserved = 512;

/// n elements from `from` on; those at or after `end` are zeros. `vectors`: in 16-byte accesses,
/// when all are there.
template <unsigned n, class V>
__device__ void load_items(const V* from, size_t there, bool vectors, V (&to)[n]) {
  if (vectors && there >= n) {
    for (unsigned c = 0; c < n * sizeof(V) / 16; ++c) {
      const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(from) + c);
      std::memcpy(to + c * (16 / sizeof(V)), &raw, 16);
    }
  } else {
    for (unsigned e = 0; e < n; ++e) to[e] = e < there ? from[e] : V{};
  }
}

template <unsigned n, class V>
__device__ void store_items(const V (&from)[n], V* to, size_t there, bool vectors) {
  if (vectors && there >= n) {
    for (unsigned c = 0; c < n * sizeof(V) / 16; ++c) {
      uint4 raw;
      std::memcpy(&raw, from + c * (16 / sizeof(V)), 16);
      __stcs(reinterpret_cast<uint4*>(to) + c, raw);
    }
  } else {
    for (unsigned e = 0; e < n; ++e)
      if (e < there) to[e] = from[e];
  }
}

__device__ inline bool aligned16(const void* at) {
  return reinterpret_cast<uintptr_t>(at) % 16 == 0;
}

/// Room that one warp has reserved; the same in all lanes.
template <class T>
class Reserve {
 public:
  __device__ explicit Reserve(const Stage<T>& stage) : stage_(stage) {}

  /// Whether there is room for n more candidates: *first says where.
  __device__ bool take(unsigned n, size_t* first) {
    if (n > left_) {
      give_up();
      const size_t want = n > kReserved ? n : kReserved;
      uint64_t at = 0;
      if (threadIdx.x % 32 == 0) at = add_to(&stage_.state->taken, want);
      at = __shfl_sync(kFullWarp, at, 0);
      if (at + want > stage_.room) return false;
      at_ = at;
      left_ = want;
    }
    *first = at_;
    at_ += n;
    left_ -= n;
    return true;
  }
  /// What is left holds no candidates: zeros, which nobody selects.
  __device__ void give_up() {
    for (size_t j = threadIdx.x % 32; j < left_; j += 32) stage_.value[at_ + j] = 0;
    left_ = 0;
  }

 private:
  const Stage<T>& stage_;
  size_t at_ = 0;
  size_t left_ = 0;
};

/// A strip in the registers of a warp: lane l holds kVector consecutive elements of every row.
template <class T>
struct Strip {
  using Acc = Accumulation<T>;
  static constexpr unsigned kVector = Stage<T>::kVector, kItems = Stage<T>::kItems,
                            kRows = Stage<T>::kRows;

  Acc acc[kRows][kVector];

  __device__ static size_t offset_of(unsigned row) {
    return (row * 32 + threadIdx.x % 32) * kVector;
  }

  /// Elements from `first` on, of which `there` exist.
  __device__ void load(const T* values, const Acc* previous, size_t first, size_t count) {
    const bool vectors = aligned16(values), more = aligned16(previous);
    T own[kRows][kVector];
    for (unsigned r = 0; r < kRows; ++r) {
      const size_t i = first + offset_of(r);
      load_items(values + i, i < count ? count - i : 0, vectors, own[r]);
      if (previous) load_items(previous + i, i < count ? count - i : 0, more, acc[r]);
    }
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned e = 0; e < kVector; ++e) {
        const Acc value = sparsecoll::widen(own[r][e]);
        acc[r][e] = previous ? value + acc[r][e] : value;
      }
  }

  /// Bit row * kVector + e: the element's key is at least `bound`.
  __device__ unsigned reaching(uint64_t bound) const {
    unsigned mask = 0;
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned e = 0; e < kVector; ++e)
        mask |= (key_of(acc[r][e]) >= bound ? 1u : 0u) << (r * kVector + e);
    return mask;
  }

  /// Everything but what `mask` says, which is staged.
  __device__ void store(Acc* next, size_t first, size_t count, unsigned mask) const {
    const bool vectors = aligned16(next);
    for (unsigned r = 0; r < kRows; ++r) {
      const size_t i = first + offset_of(r);
      Acc rest[kVector];
      for (unsigned e = 0; e < kVector; ++e)
        rest[e] = mask >> (r * kVector + e) & 1 ? Acc{0} : acc[r][e];
      store_items(rest, next + i, i < count ? count - i : 0, vectors);
    }
  }

  /// What `mask` says, in index order, from position `at` on. One sum over the lanes counts the
  /// candidates of all rows, each in some bits of its own.
  __device__ void put(const Stage<T>& stage, size_t at, unsigned mask) const {
    constexpr unsigned kBits = 32 / kRows, kMost = (1u << kBits) - 1;
    static_assert(32 * kVector <= kMost);
    unsigned own = 0;
    for (unsigned r = 0; r < kRows; ++r)
      own |= static_cast<unsigned>(__popc(row_of(mask, r))) << r * kBits;
    unsigned sum = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned before = __shfl_up_sync(kFullWarp, sum, step);
      if (threadIdx.x % 32 >= step) sum += before;
    }
    const unsigned all = __shfl_sync(kFullWarp, sum, 31), earlier = sum - own;
    Acc* const value = stage.value + at;
    uint16_t* const offset = stage.offset + at;
    unsigned first = 0;
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned count = all >> r * kBits & kMost;
      if (count == 0) continue;
      unsigned to = first + (earlier >> r * kBits & kMost);
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

/// The pass over the whole vector.
template <class T>
__global__ void __launch_bounds__(kThreads, kResident)
    stage_candidates(Sum<T> sum, Stage<T> stage) {
  const uint64_t bound = stage.state->bound;
  Reserve<T> reserve(stage);
  uint64_t found = 0;
  const size_t warps = size_t{gridDim.x} * kWarps;
  for (size_t s = size_t{blockIdx.x} * kWarps + threadIdx.x / 32; s < stage.strips; s += warps) {
    const size_t first = s * Stage<T>::kStrip;
    Strip<T> strip;
    strip.load(sum.values, sum.previous, first, sum.count);
    unsigned mask = strip.reaching(bound);
    const unsigned n = __reduce_add_sync(kFullWarp, static_cast<unsigned>(__popc(mask)));
    found += n;
    size_t at = 0;
    const bool room = n > 0 && reserve.take(n, &at);
    if (!room) mask = 0;
    if (sum.next) strip.store(sum.next, first, sum.count, mask);
    if (room) strip.put(stage, at, mask);
    if (threadIdx.x % 32 == 0) stage.table[s] = {static_cast<uint32_t>(at), room ? n : 0};
  }
  reserve.give_up();
  if (threadIdx.x % 32 == 0 && found > 0) add_to(&stage.state->found, found);
}

}  // namespace sparsecoll::cuda
