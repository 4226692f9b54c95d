// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Replaces ranks_mpi.cpp in a build without MPI.
#include <stdexcept>

#include "ranks.h"

namespace train {

std::unique_ptr<Ranks> make_processes() {
  throw std::runtime_error("this build has no MPI; ranks can be threads (--ranks)");
}

}  // namespace train
