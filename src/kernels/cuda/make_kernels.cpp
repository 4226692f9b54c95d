// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numeric.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/stamps.hpp"

namespace sparsecoll {

std::unique_ptr<Kernels> make_cuda_kernels(DataType data_type, IndexType index_type,
                                           cuda::Backend& backend, size_t block_size) {
  switch (data_type) {
    case DataType::int32:
      return cuda::make_kernels<uint32_t>(index_type, backend, block_size);
    case DataType::int64:
      return cuda::make_kernels<uint64_t>(index_type, backend, block_size);
    case DataType::float16:
      return cuda::make_kernels<Float16>(index_type, backend, block_size);
    case DataType::bfloat16:
      return cuda::make_kernels<Bfloat16>(index_type, backend, block_size);
    case DataType::float32:
      return cuda::make_kernels<float>(index_type, backend, block_size);
    case DataType::float64:
      break;
  }
  return cuda::make_kernels<double>(index_type, backend, block_size);
}

std::vector<const void*> one_kernel_per_file() {
  using namespace cuda;
  return {any_kernel<uint32_t>(), any_kernel<uint64_t>(), any_kernel<Float16>(),
          any_kernel<Bfloat16>(), any_kernel<float>(),    any_kernel<double>(),
          any_stamp_kernel()};
}

}  // namespace sparsecoll
