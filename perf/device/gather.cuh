// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/baselines.hpp"

namespace sparsecoll::perf::device {

/// Gathers the value of entry j of a selection.
template <class T>
struct Gather {
  SelectTask<T> task;
  __device__ void operator()(size_t j) const {
    const uint32_t i = task.index[j];
    task.value[j] = sent_part<T>(task.next ? task.next[i] : widen(task.gradient[i]));
  }
};

/// Removes the sent value of entry j from the residual.
template <class T>
struct Clear {
  SelectTask<T> task;
  __device__ void operator()(size_t j) const {
    Accumulation<T>& left = task.next[task.index[j]];
    left = residual_part<T>(left);
  }
};

/// Gathers the value of entry j and removes it from the residual.
template <class T>
struct GatherAndClear {
  SelectTask<T> task;
  __device__ void operator()(size_t j) const {
    Gather<T>{task}(j);
    if (task.next) Clear<T>{task}(j);
  }
};

/// Computes next = gradient + residual.
template <class T>
struct Accumulate {
  SelectTask<T> task;
  __device__ void operator()(size_t i) const {
    task.next[i] = widen(task.gradient[i]) + task.residual[i];
  }
};

}  // namespace sparsecoll::perf::device
