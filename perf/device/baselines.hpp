// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/numeric.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// A selection as users write it from parts of CUB; the entries come out by magnitude, not by
/// index, which the library's own are.
template <class T>
struct SelectTask {
  const T* gradient;
  const Accumulation<T>* residual;  ///< null: no feedback
  Accumulation<T>* next;            ///< the new residual
  size_t count;
  size_t k;
  uint32_t* index;
  Accumulation<T>* value;
};

/// Keys and indices in one kernel, cub::DeviceRadixSort, the first k and zeros in one kernel.
template <class T>
void sort_chain(cuda::Backend& backend, const SelectTask<T>& task);

/// The same as a framework does it, each step by itself: accumulate; keys; indices; sort; gather;
/// zeros.
template <class T>
void unfused_chain(cuda::Backend& backend, const SelectTask<T>& task);

/// Accumulate, cub::DeviceTopK, gather and zeros. Only CCCL 3.2 and later (CUDA 13.2) have it;
/// device_topk.cu, or without_device_topk.cpp.
bool has_device_topk();
template <class T>
void device_topk(cuda::Backend& backend, const SelectTask<T>& task);

/// A merge: all entries of all pieces one after another.
template <class Acc>
struct MergeTask {
  const uint32_t* index;
  const Acc* value;
  size_t count;
  uint32_t* sum_index;
  Acc* sum_value;
  uint64_t* sum_count;
};

/// cub::DeviceRadixSort by index, which is stable, then cub::DeviceReduce::ReduceByKey.
template <class Acc>
void sort_and_reduce(cuda::Backend& backend, const MergeTask<Acc>& task);

}  // namespace sparsecoll::perf::device
