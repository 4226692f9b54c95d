// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace train {

/// Thrown by a call that failed because another rank is gone or did not answer in time.
class RankLost : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// One rank's connection to the others. Gradients are exchanged through comm(). Losses, accuracies
/// and hashes are exchanged through allgather(), so that the communicator counts the bytes of
/// gradients only.
class World {
 public:
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  sparsecollComm_t comm() const { return comm_; }

  /// Returns the value that each rank passed, in rank order. Collective.
  virtual std::vector<std::uint64_t> allgather(std::uint64_t mine) = 0;

  /// Returns a communicator of the ranks that remain after a RankLost. The caller moves residuals
  /// and states to it, and then passes it to continue_with(), which replaces comm() by it. Both are
  /// collective over the ranks that remain.
  sparsecollComm_t shrink() const;
  void continue_with(sparsecollComm_t comm);
  /// Returns whether continue_with() was called.
  bool has_lost_ranks() const { return has_lost_ranks_; }

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
  bool has_lost_ranks_ = false;
};

/// The function that each rank runs. If a rank throws, its error is printed and all ranks are
/// stopped, because the others would wait for it.
using Body = std::function<void(World&)>;

/// Runs `body` on `ranks` threads of this process, with communicators of sparsecollCommInitAll.
void run_local(int ranks, const sparsecollConfig_t& config, const Body& body);

/// Runs `body` on this process of an mpirun, with a communicator of sparsecollCommInitMpi. Throws
/// std::runtime_error in a build without MPI. `goes_on`: the ranks that remain go on when others
/// are gone, so that they exchange nothing by MPI itself.
void run_mpi(const sparsecollConfig_t& config, bool goes_on, const Body& body);

/// Returns true if this build has MPI.
bool mpi_is_available();

/// Throws std::runtime_error with the library's message unless `result` is sparsecollSuccess:
/// RankLost for the errors that other ranks cause.
/// `comm` may be NULL for the message of the last failed init.
void require(sparsecollResult_t result, sparsecollComm_t comm);

}  // namespace train
