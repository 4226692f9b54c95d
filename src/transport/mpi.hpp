// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "transport/transport.hpp"

namespace sparsecoll {

/// Largest single MPI message, in bytes: MPI 3 counts are ints. Longer ones travel in
/// chunks.
inline constexpr size_t kMaxMpiMessage = size_t{1} << 30;

/// What is asked of the transport on this rank; others may do otherwise.
struct MpiOptions {
  /// MPI is given memory of devices; none: where it says that it takes it.
  std::optional<bool> device_memory = {};
  /// Messages go in pieces (mpi_eager.hpp) where they can; none: to other machines.
  std::optional<bool> pieces = {};
  size_t chunk = kMaxMpiMessage;  ///< for tests
};

/// Collective over `mpi`, within the deadline: duplicates it and learns which ranks are on other
/// machines. After that point-to-point only, and nothing that waits for a peer. Throws
/// InvalidArgument when `mpi` is null or an intercommunicator, InvalidUsage when MPI is not running
/// or its thread level forbids this thread, Timeout, SystemError.
std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              const MpiOptions& options = {});

/// Whether this process's MPI, which is running, says that it takes memory of CUDA devices; not if
/// it does not say.
bool mpi_is_cuda_aware();

}  // namespace sparsecoll
