// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>

#include "transport/transport.hpp"

namespace sparsecoll {

/// Largest single MPI message, in bytes: MPI 3 counts are ints. Longer ones travel in
/// chunks.
inline constexpr size_t kMpiChunk = size_t{1} << 30;

/// Collective over `mpi`: duplicates it within the deadline. After that point-to-point only, and
/// nothing that waits for a peer. Throws InvalidArgument when `mpi` is null or an
/// intercommunicator, InvalidUsage when MPI is not running or its thread level forbids this thread,
/// Timeout, SystemError. `chunk` is for tests.
std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              size_t chunk = kMpiChunk);

}  // namespace sparsecoll
