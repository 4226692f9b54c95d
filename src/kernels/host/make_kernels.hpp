// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host/block_kernels.hpp"

namespace sparsecoll::host {

/// Creates the kernels of one value type. Each type has a source file that instantiates this
/// template.
template <class T>
Kernels& make_kernels(IndexType index_type, Arena& arena, Backend* backend, size_t block_size) {
  const auto make = [&]<class Made>(std::type_identity<Made>) -> Kernels& {
    return *new (arena.take<Made>(1)) Made(arena, backend, block_size);
  };
  const bool narrow = index_type == IndexType::index32;
  if (block_size > 1)
    return narrow ? make(std::type_identity<HostBlockKernels<T, uint32_t>>{})
                  : make(std::type_identity<HostBlockKernels<T, uint64_t>>{});
  return narrow ? make(std::type_identity<HostKernels<T, uint32_t>>{})
                : make(std::type_identity<HostKernels<T, uint64_t>>{});
}

extern template Kernels& make_kernels<float>(IndexType, Arena&, Backend*, size_t);
extern template Kernels& make_kernels<double>(IndexType, Arena&, Backend*, size_t);
extern template Kernels& make_kernels<Float16>(IndexType, Arena&, Backend*, size_t);
extern template Kernels& make_kernels<Bfloat16>(IndexType, Arena&, Backend*, size_t);
extern template Kernels& make_kernels<uint32_t>(IndexType, Arena&, Backend*, size_t);
extern template Kernels& make_kernels<uint64_t>(IndexType, Arena&, Backend*, size_t);

}  // namespace sparsecoll::host
