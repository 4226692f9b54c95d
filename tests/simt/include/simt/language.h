// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's extensions of C++: keywords, types, and the indices of a thread.

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

namespace simt {

template <class V>
struct alignas(2 * sizeof(V)) Vector2 {
  V x, y;
};
template <class V>
struct alignas(4 * sizeof(V) > 16 ? 16 : 4 * sizeof(V)) Vector4 {
  V x, y, z, w;
};

}  // namespace simt

using uint2 = simt::Vector2<unsigned>;
using uint4 = simt::Vector4<unsigned>;
using int2 = simt::Vector2<int>;
using int4 = simt::Vector4<int>;
using float2 = simt::Vector2<float>;
using float4 = simt::Vector4<float>;
using double2 = simt::Vector2<double>;
using double4 = simt::Vector4<double>;
using ulonglong2 = simt::Vector2<unsigned long long>;
using ulonglong4 = simt::Vector4<unsigned long long>;
using ushort2 = simt::Vector2<unsigned short>;
using ushort4 = simt::Vector4<unsigned short>;

extern constinit thread_local uint3 threadIdx, blockIdx;
extern constinit thread_local dim3 blockDim, gridDim;
