// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// What MPI says of CUDA. The question is an extension, of Open MPI's and MPICH's: whether there is
// one is found out when the program is linked or starts.
#include "transport/mpi.hpp"

extern "C" int MPIX_Query_cuda_support(void) __attribute__((weak));

namespace sparsecoll {

bool mpi_is_cuda_aware() { return MPIX_Query_cuda_support && MPIX_Query_cuda_support() == 1; }

}  // namespace sparsecoll
