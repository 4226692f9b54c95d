// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <memory>
#include <string>
#include <vector>

namespace sparsecoll::info {

/// The processes that a launcher has started. They exchange texts without the library, so that
/// they can tell what keeps the library from working.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the text of each rank. Collective.
  virtual std::vector<std::string> allgather(const std::string& mine) = 0;
  /// Makes a communicator of all ranks. Collective.
  virtual sparsecollResult_t connect(sparsecollComm_t* comm) = 0;
  /// Returns "mpi" or "ucx": how it sends.
  virtual std::string transport() const = 0;
};

/// Returns the processes of an mpirun. Throws std::runtime_error in a build without MPI (mpi.cpp,
/// no_mpi.cpp). `over_ucx`: the library sends over UCX, and only finds its ranks over MPI.
std::unique_ptr<World> world_of_mpi(bool over_ucx);

}  // namespace sparsecoll::info
