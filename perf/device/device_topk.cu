// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_topk.cuh>
#include <cuda/stream_ref>

#include "device/baselines.hpp"
#include "device/cub_call.cuh"
#include "device/gather.cuh"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::perf::device {
namespace {

template <class V>
struct KeyOf {
  __host__ __device__ Key<V> operator()(V value) const { return key_of(value); }
};

template <class T, class V>
void select(cuda::Backend& backend, const SelectTask<T>& task, const V* from) {
  const Arena::Scope scope(backend.arena());
  Key<V>* const keys = backend.arena().take<Key<V>>(task.k);
  if (task.next) cuda::for_each(backend, {nullptr, task.count}, Accumulate<T>{task});
  const auto requirements = ::cuda::execution::require(
      ::cuda::execution::determinism::not_guaranteed, ::cuda::execution::output_ordering::unsorted);
  const auto environment =
      ::cuda::std::execution::env{::cuda::stream_ref{backend.stream()}, requirements};
  call_cub(backend, [&](void* workspace, size_t& bytes) {
    return cub::DeviceTopK::MaxPairs(
        workspace, bytes, thrust::make_transform_iterator(from, KeyOf<V>{}), keys,
        thrust::make_counting_iterator(uint32_t{0}), task.index, task.count, task.k, environment);
  });
  cuda::for_each(backend, {nullptr, task.k}, GatherAndClear<T>{task});
}

}  // namespace

bool has_device_topk() { return true; }

template <class T>
void device_topk(cuda::Backend& backend, const SelectTask<T>& task) {
  if (task.next)
    select<T, Accumulation<T>>(backend, task, task.next);
  else
    select<T, T>(backend, task, task.gradient);
}

template void device_topk(cuda::Backend&, const SelectTask<float>&);
template void device_topk(cuda::Backend&, const SelectTask<double>&);
template void device_topk(cuda::Backend&, const SelectTask<Float16>&);
template void device_topk(cuda::Backend&, const SelectTask<Bfloat16>&);

}  // namespace sparsecoll::perf::device
