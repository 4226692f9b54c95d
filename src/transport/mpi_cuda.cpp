// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Asks MPI whether it is CUDA-aware. The function is an extension of Open MPI and MPICH; a weak
// symbol finds out, when the program is linked or loaded, whether this MPI has it.
#include "transport/mpi.hpp"

extern "C" int MPIX_Query_cuda_support(void) __attribute__((weak));

namespace sparsecoll {

bool mpi_is_cuda_aware() { return MPIX_Query_cuda_support && MPIX_Query_cuda_support() == 1; }

}  // namespace sparsecoll
