// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "device/baselines.hpp"
#include "device/cub_call.cuh"
#include "device/gather.cuh"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::perf::device {
namespace {

/// Keys of V with their indices, before or after the sort.
template <class V>
struct Pairs {
  Key<V>* key;
  uint32_t* index;

  Pairs(cuda::Backend& backend, size_t n)
      : key(backend.arena().take<Key<V>>(n)), index(backend.arena().take<uint32_t>(n)) {}
};

template <class V>
void sort(cuda::Backend& backend, const Pairs<V>& from, const Pairs<V>& to, size_t n) {
  call_cub(backend, [&](void* workspace, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(workspace, bytes, from.key, to.key, from.index,
                                                     to.index, n, 0, 8 * sizeof(Key<V>),
                                                     backend.stream());
  });
}

template <class V>
struct KeyOf {
  const V* from;
  Key<V>* to;
  __device__ void operator()(size_t i) const { to[i] = key_of(from[i]); }
};

struct IndexOf {
  uint32_t* to;
  __device__ void operator()(size_t i) const { to[i] = static_cast<uint32_t>(i); }
};

/// Does all steps before the sort. V is the type in which values are compared.
template <class T, class V>
struct Prepare {
  SelectTask<T> task;
  Pairs<V> to;
  __device__ void operator()(size_t i) const {
    if constexpr (std::is_same_v<V, Accumulation<T>>) {
      if (task.next) {
        Accumulate<T>{task}(i);
        to.key[i] = key_of(task.next[i]);
      }
    }
    if constexpr (std::is_same_v<V, T>) {
      if (!task.next) to.key[i] = key_of(task.gradient[i]);
    }
    to.index[i] = static_cast<uint32_t>(i);
  }
};

void take_first(cuda::Backend& backend, const uint32_t* sorted, size_t k, uint32_t* to) {
  cuda::check(
      cudaMemcpyAsync(to, sorted, k * sizeof(uint32_t), cudaMemcpyDeviceToDevice, backend.stream()),
      "cudaMemcpyAsync");
}

template <class T, class V>
void fused(cuda::Backend& backend, const SelectTask<T>& task) {
  const Arena::Scope scope(backend.arena());
  const Pairs<V> pairs(backend, task.count), sorted(backend, task.count);
  cuda::for_each(backend, {nullptr, task.count}, Prepare<T, V>{task, pairs});
  sort(backend, pairs, sorted, task.count);
  take_first(backend, sorted.index, task.k, task.index);
  cuda::for_each(backend, {nullptr, task.k}, GatherAndClear<T>{task});
}

template <class T, class V>
void unfused(cuda::Backend& backend, const SelectTask<T>& task, const V* from) {
  const Arena::Scope scope(backend.arena());
  const Pairs<V> pairs(backend, task.count), sorted(backend, task.count);
  if (task.next) cuda::for_each(backend, {nullptr, task.count}, Accumulate<T>{task});
  cuda::for_each(backend, {nullptr, task.count}, KeyOf<V>{from, pairs.key});
  cuda::for_each(backend, {nullptr, task.count}, IndexOf{pairs.index});
  sort(backend, pairs, sorted, task.count);
  take_first(backend, sorted.index, task.k, task.index);
  cuda::for_each(backend, {nullptr, task.k}, Gather<T>{task});
  if (task.next) cuda::for_each(backend, {nullptr, task.k}, Clear<T>{task});
}

}  // namespace

template <class T>
void sort_chain(cuda::Backend& backend, const SelectTask<T>& task) {
  if (task.next)
    fused<T, Accumulation<T>>(backend, task);
  else
    fused<T, T>(backend, task);
}

template <class T>
void unfused_chain(cuda::Backend& backend, const SelectTask<T>& task) {
  if (task.next)
    unfused<T, Accumulation<T>>(backend, task, task.next);
  else
    unfused<T, T>(backend, task, task.gradient);
}

template <class Acc>
void sort_and_reduce(cuda::Backend& backend, const MergeTask<Acc>& task) {
  const Arena::Scope scope(backend.arena());
  uint32_t* const index = backend.arena().take<uint32_t>(task.count);
  Acc* const value = backend.arena().take<Acc>(task.count);
  call_cub(backend, [&](void* workspace, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, task.index, index, task.value, value,
                                           task.count, 0, 32, backend.stream());
  });
  call_cub(backend, [&](void* workspace, size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(workspace, bytes, index, task.sum_index, value,
                                          task.sum_value, task.sum_count, ::cuda::std::plus<Acc>{},
                                          task.count, backend.stream());
  });
}

template void sort_chain(cuda::Backend&, const SelectTask<float>&);
template void sort_chain(cuda::Backend&, const SelectTask<double>&);
template void sort_chain(cuda::Backend&, const SelectTask<Float16>&);
template void sort_chain(cuda::Backend&, const SelectTask<Bfloat16>&);
template void unfused_chain(cuda::Backend&, const SelectTask<float>&);
template void unfused_chain(cuda::Backend&, const SelectTask<double>&);
template void unfused_chain(cuda::Backend&, const SelectTask<Float16>&);
template void unfused_chain(cuda::Backend&, const SelectTask<Bfloat16>&);
template void sort_and_reduce(cuda::Backend&, const MergeTask<float>&);
template void sort_and_reduce(cuda::Backend&, const MergeTask<double>&);

}  // namespace sparsecoll::perf::device
