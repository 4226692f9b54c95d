// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_TESTS_SIMT_CUDA_RUNTIME_H_
#define SPARSECOLL_TESTS_SIMT_CUDA_RUNTIME_H_

// The part of CUDA that the library's kernels use, on a machine without a GPU. The kernels' own
// sources are compiled by the host's compiler against this header; ../engine.hpp says what runs
// them, and what it finds that a GPU would not tell. For tests only: nothing here is fast.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

// --- the language

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// A block runs on one thread of the operating system from its beginning to its end.
#define __shared__ static thread_local

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};

#define SIMT_VECTOR(type, name)                                           \
  struct alignas(2 * sizeof(type)) name##2 {                              \
    type x, y;                                                            \
  };                                                                      \
  struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { \
    type x, y, z, w;                                                      \
  };
SIMT_VECTOR(unsigned, uint)
SIMT_VECTOR(int, int)
SIMT_VECTOR(float, float)
SIMT_VECTOR(double, double)
SIMT_VECTOR(unsigned long long, ulonglong)
SIMT_VECTOR(unsigned short, ushort)
#undef SIMT_VECTOR

using cudaStream_t = struct CUstream_st*;

// --- what a thread sees

extern constinit thread_local uint3 threadIdx, blockIdx;
extern constinit thread_local dim3 blockDim, gridDim;

namespace simt {

enum class Wait { none, block, warp, grid };
enum class Operation { none, sync, ballot, shuffle, match, reduce };

/// One value of every lane of the calling thread's warp, when all of them have come.
const uint64_t* exchange(Operation operation, uint64_t value);
void block_barrier();
/// Of a cooperative launch.
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
/// Lanes of a warp in an order of their own are no warp: the mask is always all of them.
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

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "sums of floats by atomics are not reproducible");
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < old &&
         !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value > old &&
         !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

// --- the runtime

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorCooperativeLaunchTooLarge = 82,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int cooperative;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
inline constexpr unsigned cudaStreamNonBlocking = 1;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMalloc(void** at, size_t bytes);
cudaError_t cudaFree(void* at);
cudaError_t cudaMallocHost(void** at, size_t bytes);
cudaError_t cudaFreeHost(void* at);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* at, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

namespace simt {
/// As on a device with 2 multiprocessors that hold 3 blocks each.
inline constexpr int kMultiprocessors = 2, kResident = 3;
cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> body);
}  // namespace simt

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, size_t) {
  *blocks = simt::kResident;
  return cudaSuccess;
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  // Parameters are copied at the launch, as on a GPU.
  return simt::launch(
      *config, [kernel, all = std::tuple<std::remove_cvref_t<Parameters>...>(
                            std::forward<Arguments>(arguments)...)] { std::apply(kernel, all); });
}

#endif  // SPARSECOLL_TESTS_SIMT_CUDA_RUNTIME_H_
