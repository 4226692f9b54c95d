// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/numeric.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

// Passes over memory. No kernel that reads or writes as much can be faster.

/// Copies the bytes by cudaMemcpyAsync.
void copy(cuda::Backend& backend, std::span<const std::byte> from, std::byte* to);

/// Computes residual += gradient, in 16-byte accesses. Both must be aligned to 16 bytes.
template <class T>
void add(cuda::Backend& backend, std::span<const T> gradient, Accumulation<T>* residual);

/// Sets *largest to the largest key of x by cub::DeviceReduce: one pass over x.
template <class T>
void reduce(cuda::Backend& backend, std::span<const T> x, Key<T>* largest);

}  // namespace sparsecoll::perf::device
