// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecollCommInitMpiFint() of libsparsecoll.a. It does not load libsparsecoll_mpi.so, which
// would bring a second copy of the library into the process. The function of libsparsecoll_mpi.a
// replaces this one, which is weak.
#include "api/bridge.hpp"

using namespace sparsecoll;

__attribute__((weak)) sparsecollResult_t sparsecollCommInitMpiFint(sparsecollComm_t*, int,
                                                                   const sparsecollConfig_t*) {
  return on_init("sparsecollCommInitMpiFint", [] {
    fail(sparsecollInvalidUsage,
         "this program is linked without communicators over MPI: expected "
         "libsparsecoll_mpi.a before libsparsecoll.a");
  });
}
