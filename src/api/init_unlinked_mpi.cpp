// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The function for MPI that sparsecoll.h declares, in a build without MPI.
#include "api/bridge.hpp"

using namespace sparsecoll;

sparsecollResult_t sparsecollCommInitMpiFint(sparsecollComm_t*, int, const sparsecollConfig_t*) {
  return on_init("sparsecollCommInitMpiFint", [] {
    fail(sparsecollInvalidUsage, "this library was built without MPI (SPARSECOLL_MPI)");
  });
}
