// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/numeric.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// The arguments of a selection that users can write with CUB. It returns entries by magnitude; the
/// library returns them by index.
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

/// Selects by a sort: keys and indices in one kernel, cub::DeviceRadixSort, then the first k
/// entries and the zeros in the residual in one kernel.
template <class T>
void sort_chain(cuda::Backend& backend, const SelectTask<T>& task);

/// Selects by a sort as frameworks do, with a kernel for each step: accumulate, keys, indices,
/// sort, gather, zeros.
template <class T>
void unfused_chain(cuda::Backend& backend, const SelectTask<T>& task);

/// Returns true if this build has device_topk(). It needs CCCL 3.2 (CUDA 13.2) or later. Both are
/// defined in device_topk.cu, or else in without_device_topk.cpp.
bool has_device_topk();
/// Selects by cub::DeviceTopK: accumulate, cub::DeviceTopK, then gather and zeros in one kernel.
template <class T>
void device_topk(cuda::Backend& backend, const SelectTask<T>& task);

/// The arguments of a merge: the entries of all inputs, in the order of the inputs.
template <class Acc>
struct MergeTask {
  const uint32_t* index;
  const Acc* value;
  size_t count;
  uint32_t* sum_index;
  Acc* sum_value;
  uint64_t* sum_count;
};

/// Merges by cub::DeviceRadixSort by index, which is stable, and cub::DeviceReduce::ReduceByKey.
template <class Acc>
void sort_and_reduce(cuda::Backend& backend, const MergeTask<Acc>& task);

}  // namespace sparsecoll::perf::device
