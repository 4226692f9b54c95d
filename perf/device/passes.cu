// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_reduce.cuh>
#include <cuda/functional>

#include "device/cub_call.cuh"
#include "device/passes.hpp"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::perf::device {
namespace {

/// The values of one 16-byte load or store.
template <class V>
struct alignas(16) Pack {
  static constexpr size_t kValues = 16 / sizeof(V);
  V value[kValues];
};

/// The residuals of the gradients in one Pack.
template <class T>
struct alignas(16) Residuals {
  Pack<Accumulation<T>> pack[sizeof(Accumulation<T>) / sizeof(T)];
};

template <class T>
__global__ void __launch_bounds__(cuda::kThreads)
    add_packs(std::span<const T> gradient, Accumulation<T>* residual) {
  using Acc = Accumulation<T>;
  constexpr size_t kValues = Pack<T>::kValues;
  const size_t packs = gradient.size() / kValues;
  const size_t at = size_t{blockIdx.x} * cuda::kThreads + threadIdx.x;
  if (at < packs) {
    const Pack<T> g = reinterpret_cast<const Pack<T>*>(gradient.data())[at];
    Residuals<T>* const target = reinterpret_cast<Residuals<T>*>(residual) + at;
    Residuals<T> r = *target;
#pragma unroll
    for (size_t j = 0; j < kValues; ++j)
      r.pack[j / Pack<Acc>::kValues].value[j % Pack<Acc>::kValues] += widen(g.value[j]);
    *target = r;
  }
  const size_t rest = packs * kValues + at;
  if (rest < gradient.size()) residual[rest] += widen(gradient[rest]);
}

template <class T>
struct Magnitude {
  __device__ Key<T> operator()(Key<T> bits) const {
    return static_cast<Key<T>>(bits & Float<T>::kMagnitude);
  }
};

}  // namespace

void copy(cuda::Backend& backend, std::span<const std::byte> from, std::byte* to) {
  cuda::check(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDeviceToDevice, backend.stream()),
      "cudaMemcpyAsync");
}

template <class T>
void add(cuda::Backend& backend, std::span<const T> gradient, Accumulation<T>* residual) {
  const size_t threads = gradient.size() / Pack<T>::kValues + 1;
  cuda::launch(backend, threads / cuda::kThreads + 1, add_packs<T>, gradient, residual);
}

template <class T>
void reduce(cuda::Backend& backend, std::span<const T> x, Key<T>* largest) {
  const auto* const bits = reinterpret_cast<const Key<T>*>(x.data());
  call_cub(backend, [&](void* workspace, size_t& bytes) {
    return cub::DeviceReduce::TransformReduce(workspace, bytes, bits, largest, x.size(),
                                              ::cuda::maximum<Key<T>>{}, Magnitude<T>{}, Key<T>{0},
                                              backend.stream());
  });
}

template void add(cuda::Backend&, std::span<const float>, float*);
template void add(cuda::Backend&, std::span<const double>, double*);
template void add(cuda::Backend&, std::span<const Float16>, float*);
template void add(cuda::Backend&, std::span<const Bfloat16>, float*);
template void reduce(cuda::Backend&, std::span<const float>, uint32_t*);
template void reduce(cuda::Backend&, std::span<const double>, uint64_t*);
template void reduce(cuda::Backend&, std::span<const Float16>, uint16_t*);
template void reduce(cuda::Backend&, std::span<const Bfloat16>, uint16_t*);

}  // namespace sparsecoll::perf::device
