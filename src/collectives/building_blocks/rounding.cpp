// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/rounding.hpp"

namespace sparsecoll {

Rounded round_for_wire(Env& env, const SparseSpan& in) {
  Kernels& kernels = env.kernels;
  if (!env.rounds()) return {in, {}};
  const size_t bytes = kernels.value_bytes(in.nnz.bound);
  void* const rounded = kernels.bytes(bytes);
  void* const lost = kernels.bytes(bytes);
  const Precision precision = env.rounded_precision();
  if (precision == Precision::int8)
    kernels.round_to_int8(in, rounded, lost);
  else
    kernels.round_to_bf16(in, rounded, lost);
  return {{in.index, rounded, in.nnz, precision}, {in.index, lost, in.nnz}};
}

}  // namespace sparsecoll
