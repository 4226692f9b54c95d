// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/make_kernels.hpp"

namespace sparsecoll {

namespace {

Kernels& make(DataType data_type, IndexType index_type, Arena& arena, host::Backend* backend,
              size_t block_size) {
  switch (data_type) {
    case DataType::int32:
      return host::make_kernels<uint32_t>(index_type, arena, backend, block_size);
    case DataType::int64:
      return host::make_kernels<uint64_t>(index_type, arena, backend, block_size);
    case DataType::float16:
      return host::make_kernels<Float16>(index_type, arena, backend, block_size);
    case DataType::bfloat16:
      return host::make_kernels<Bfloat16>(index_type, arena, backend, block_size);
    case DataType::float32:
      return host::make_kernels<float>(index_type, arena, backend, block_size);
    case DataType::float64:
      break;
  }
  return host::make_kernels<double>(index_type, arena, backend, block_size);
}

}  // namespace

Kernels& make_plain_kernels(DataType data_type, IndexType index_type, Arena& arena,
                            size_t block_size) {
  return make(data_type, index_type, arena, nullptr, block_size);
}

Kernels& make_host_kernels(DataType data_type, IndexType index_type, host::Backend& backend,
                           size_t block_size) {
  return make(data_type, index_type, backend.arena(), &backend, block_size);
}

}  // namespace sparsecoll
