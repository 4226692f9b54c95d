// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/make_kernels.cuh"

namespace sparsecoll::cuda {

template std::unique_ptr<Kernels> make_kernels<Bfloat16>(IndexType, Backend&, size_t);
template const void* any_kernel<Bfloat16>();

}  // namespace sparsecoll::cuda
