// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/value_blocks/block_kernels.cuh"

namespace sparsecoll::cuda {

template <class T, class I>
std::unique_ptr<Kernels> make_kernels_of(Backend& backend, size_t block_size) {
  if (block_size == 1) return std::make_unique<CudaKernels<T, I>>(backend);
  return std::make_unique<CudaBlockKernels<T, I>>(backend, block_size);
}

template <class T>
std::unique_ptr<Kernels> make_kernels(IndexType index_type, Backend& backend, size_t block_size) {
  switch (index_type) {
    case IndexType::index32:
      return make_kernels_of<T, uint32_t>(backend, block_size);
    case IndexType::index64:
      break;
  }
  return make_kernels_of<T, uint64_t>(backend, block_size);
}

/// Returns one of the kernels of type T, for load_kernels().
template <class T>
const void* any_kernel() {
  return reinterpret_cast<const void*>(&apply_terms<true, T>);
}

}  // namespace sparsecoll::cuda
