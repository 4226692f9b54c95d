// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Machines for which there are no loops of their own.
#include "kernels/host/sweep.hpp"

namespace sparsecoll::host {

const Sweeps* find_sweeps(Simd simd) {
  return simd == Simd::portable ? &portable_sweeps() : nullptr;
}

const Sifts* find_sifts(Simd) { return nullptr; }

Simd best_simd() { return Simd::portable; }

}  // namespace sparsecoll::host
