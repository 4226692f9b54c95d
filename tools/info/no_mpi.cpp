// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Replaces mpi.cpp in a build without MPI.
#include <stdexcept>

#include "report.hpp"
#include "world.hpp"

namespace sparsecoll::info {

std::optional<std::string> mpi_version() { return std::nullopt; }

std::unique_ptr<World> world_of_mpi(bool /*over_ucx*/) {
  throw std::runtime_error(
      "no launcher has set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (perf/launch, torchrun), "
      "and this program was built without MPI");
}

}  // namespace sparsecoll::info
