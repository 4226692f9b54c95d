// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/driver.hpp"

#include "engine.hpp"

namespace sparsecoll::cuda {
bool context_exists() { return simt::context_exists(); }
bool context_exists_on(int device) { return simt::context_exists_on(device); }
void load_kernels(std::span<const void* const>) {}  // they are
}  // namespace sparsecoll::cuda

/// No MPI can access the device memory of this machine. A stand-in for one that can overrides this.
extern "C" __attribute__((weak)) int MPIX_Query_cuda_support(void) { return 0; }
