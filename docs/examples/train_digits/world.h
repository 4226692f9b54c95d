// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace train {

/// What one rank knows of the others. The gradients go through comm(); everything else that ranks
/// tell each other (losses, hits, hashes) goes through allgather(), so that the bytes counted by
/// the communicator are those of the gradients alone.
class World {
 public:
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  sparsecollComm_t comm() const { return comm_; }

  /// Collective: what every rank passed, by rank.
  virtual std::vector<std::uint64_t> allgather(std::uint64_t mine) = 0;

  double sum(double mine);
  double mean(double mine) { return sum(mine) / size_; }
  double max(double mine);
  std::uint64_t max(std::uint64_t mine);

 protected:
  World(int rank, int size, sparsecollComm_t comm) : rank_(rank), size_(size), comm_(comm) {}
  ~World() = default;

 private:
  int rank_;
  int size_;
  sparsecollComm_t comm_;
};

/// What a rank does. A rank that throws ends the whole job: its error is printed, and the others
/// are stopped, since they would wait for it.
using Body = std::function<void(World&)>;

/// Runs `body` on `ranks` threads of this process; communicators by sparsecollCommInitAll.
void run_local(int ranks, const sparsecollConfig_t& config, const Body& body);

/// Runs `body` on this process of an mpirun; the communicator by sparsecollCommInitMpi. Throws in
/// a build without MPI.
void run_mpi(const sparsecollConfig_t& config, const Body& body);

/// Whether this build has MPI.
bool mpi_is_available();

/// Throws std::runtime_error with the library's own words unless `result` is sparsecollSuccess.
/// `comm` may be NULL: the last failed init.
void require(sparsecollResult_t result, sparsecollComm_t comm);

}  // namespace train
