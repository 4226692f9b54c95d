// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/cuda_kernels.cuh"

namespace sparsecoll::cuda {

template <class T>
std::unique_ptr<Kernels> make_kernels(IndexType index_type, Backend& backend) {
  switch (index_type) {
    case IndexType::index32:
      return std::make_unique<CudaKernels<T, uint32_t>>(backend);
    case IndexType::index64:
      break;
  }
  return std::make_unique<CudaKernels<T, uint64_t>>(backend);
}

/// Returns one of the kernels of type T, for load_kernels().
template <class T>
const void* any_kernel() {
  return reinterpret_cast<const void*>(&apply_terms<true, T>);
}

}  // namespace sparsecoll::cuda
