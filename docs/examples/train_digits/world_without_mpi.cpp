// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Replaces world_mpi.cpp in a build without MPI.
#include <stdexcept>

#include "world.h"

namespace train {

bool mpi_is_available() { return false; }

void run_mpi(const sparsecollConfig_t&, bool, const Body&) {
  throw std::runtime_error("this build has no MPI; it needs --transport local");
}

}  // namespace train
