// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/backend.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// Returns kernels of these types that run on `backend`. The backend must outlive them.
std::unique_ptr<Kernels> make_cuda_kernels(DataType data_type, IndexType index_type,
                                           cuda::Backend& backend, size_t block_size = 1);

/// Returns one kernel of every source file that has kernels, for load_kernels().
std::vector<const void*> one_kernel_per_file();

namespace cuda {
/// For each value type these templates are instantiated in a source file of their own.
template <class T>
std::unique_ptr<Kernels> make_kernels(IndexType index_type, Backend& backend, size_t block_size);
template <class T>
const void* any_kernel();
}  // namespace cuda

}  // namespace sparsecoll
