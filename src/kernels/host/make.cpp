// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/host_kernels.hpp"

namespace sparsecoll {

namespace {

Kernels& make(DataType data_type, IndexType index_type, Arena& arena, host::Backend* backend) {
  switch (data_type) {
    case DataType::int32:
      return host::make_kernels<uint32_t>(index_type, arena, backend);
    case DataType::int64:
      return host::make_kernels<uint64_t>(index_type, arena, backend);
    case DataType::float16:
      return host::make_kernels<Float16>(index_type, arena, backend);
    case DataType::bfloat16:
      return host::make_kernels<Bfloat16>(index_type, arena, backend);
    case DataType::float32:
      return host::make_kernels<float>(index_type, arena, backend);
    case DataType::float64:
      break;
  }
  return host::make_kernels<double>(index_type, arena, backend);
}

}  // namespace

Kernels& make_plain_kernels(DataType data_type, IndexType index_type, Arena& arena) {
  return make(data_type, index_type, arena, nullptr);
}

Kernels& make_host_kernels(DataType data_type, IndexType index_type, host::Backend& backend) {
  return make(data_type, index_type, backend.arena(), &backend);
}

}  // namespace sparsecoll
