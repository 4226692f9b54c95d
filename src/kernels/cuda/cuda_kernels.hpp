// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/backend.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// Kernels of these types that run where `place`, which outlives them, says.
std::unique_ptr<Kernels> make_cuda_kernels(DataType data_type, IndexType index_type,
                                           cuda::Backend& backend);

/// One kernel of each file that has some, for load_kernels().
std::vector<const void*> some_cuda_kernels();

namespace cuda {
/// Instantiated once per value type, in a file of its own.
template <class T>
std::unique_ptr<Kernels> make_kernels(IndexType index_type, Backend& backend);
template <class T>
const void* kernel_of();
}  // namespace cuda

}  // namespace sparsecoll
