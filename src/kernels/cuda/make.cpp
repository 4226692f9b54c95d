// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numeric.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/stamps.hpp"

namespace sparsecoll {

std::unique_ptr<Kernels> make_cuda_kernels(DataType data_type, IndexType index_type,
                                           cuda::Backend& backend) {
  switch (data_type) {
    case DataType::int32:
      return cuda::make_kernels<uint32_t>(index_type, backend);
    case DataType::int64:
      return cuda::make_kernels<uint64_t>(index_type, backend);
    case DataType::float16:
      return cuda::make_kernels<Float16>(index_type, backend);
    case DataType::bfloat16:
      return cuda::make_kernels<Bfloat16>(index_type, backend);
    case DataType::float32:
      return cuda::make_kernels<float>(index_type, backend);
    case DataType::float64:
      break;
  }
  return cuda::make_kernels<double>(index_type, backend);
}

std::vector<const void*> some_cuda_kernels() {
  using namespace cuda;
  return {kernel_of<uint32_t>(), kernel_of<uint64_t>(), kernel_of<Float16>(), kernel_of<Bfloat16>(),
          kernel_of<float>(),    kernel_of<double>(),   kernel_of_stamps()};
}

}  // namespace sparsecoll
