// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations of the threads of a block with each other, functions of one thread, and loads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "simt/language.h"

namespace simt {

enum class Wait { none, block, warp, grid };
enum class Operation { none, sync, ballot, shuffle, match, reduce };

/// Exchanges one value of every lane of the calling thread's warp. Waits for all lanes.
const uint64_t* exchange(Operation operation, uint64_t value);
void block_barrier();
/// For a cooperative launch.
void grid_barrier();

inline unsigned lane() { return threadIdx.x % 32; }

template <class T>
uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
/// The lanes of a warp run in any order here, so that the mask must always be all of them.
void check_mask(unsigned mask);

}  // namespace simt

inline constexpr int warpSize = 32;

inline void __syncthreads() { simt::block_barrier(); }
int __syncthreads_or(int predicate);
int __syncthreads_count(int predicate);
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  simt::check_mask(mask);
  simt::exchange(simt::Operation::sync, 0);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  simt::check_mask(mask);
  const uint64_t* of = simt::exchange(simt::Operation::ballot, predicate != 0);
  unsigned ballot = 0;
  for (unsigned l = 0; l < 32; ++l) ballot |= static_cast<unsigned>(of[l]) << l;
  return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == ~0u;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  simt::check_mask(mask);
  const unsigned segment = simt::lane() & ~(static_cast<unsigned>(width) - 1);
  const uint64_t* of = simt::exchange(simt::Operation::shuffle, simt::to_bits(value));
  return simt::from_bits<T>(
      of[segment + (static_cast<unsigned>(from) & (static_cast<unsigned>(width) - 1))]);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  simt::check_mask(mask);
  const unsigned in_segment = simt::lane() & (static_cast<unsigned>(width) - 1);
  const uint64_t* of = simt::exchange(simt::Operation::shuffle, simt::to_bits(value));
  return in_segment < delta ? value : simt::from_bits<T>(of[simt::lane() - delta]);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  simt::check_mask(mask);
  const unsigned in_segment = simt::lane() & (static_cast<unsigned>(width) - 1);
  const uint64_t* of = simt::exchange(simt::Operation::shuffle, simt::to_bits(value));
  return in_segment + delta >= static_cast<unsigned>(width)
             ? value
             : simt::from_bits<T>(of[simt::lane() + delta]);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32) {
  simt::check_mask(mask);
  const unsigned from = simt::lane() ^ static_cast<unsigned>(other);
  const unsigned last = simt::lane() | (static_cast<unsigned>(width) - 1);
  const uint64_t* of = simt::exchange(simt::Operation::shuffle, simt::to_bits(value));
  return from > last ? value : simt::from_bits<T>(of[from]);
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  simt::check_mask(mask);
  const uint64_t* of = simt::exchange(simt::Operation::match, simt::to_bits(value));
  unsigned same = 0;
  for (unsigned l = 0; l < 32; ++l) same |= (of[l] == simt::to_bits(value) ? 1u : 0u) << l;
  return same;
}
namespace simt {
template <class T, class Combine>
T reduce(unsigned mask, T value, const Combine& combine) {
  static_assert(std::is_same_v<T, unsigned> || std::is_same_v<T, int>, "as CUDA has them");
  check_mask(mask);
  const uint64_t* of = exchange(Operation::reduce, to_bits(value));
  T all = from_bits<T>(of[0]);
  for (unsigned l = 1; l < 32; ++l) all = combine(all, from_bits<T>(of[l]));
  return all;
}
}  // namespace simt

template <class T>
T __reduce_add_sync(unsigned mask, T value) {
  return simt::reduce(mask, value, [](T a, T b) {
    return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  });
}
template <class T>
T __reduce_max_sync(unsigned mask, T value) {
  return simt::reduce(mask, value, [](T a, T b) { return std::max(a, b); });
}
template <class T>
T __reduce_min_sync(unsigned mask, T value) {
  return simt::reduce(mask, value, [](T a, T b) { return std::min(a, b); });
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x == 0 ? 32 : __builtin_clz(x); }
inline int __clzll(unsigned long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }

template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, const T& value) {
  *at = value;
}
