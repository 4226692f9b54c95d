// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>

#include "transport/transport.hpp"

namespace sparsecoll {

/// The size in bytes of the largest MPI message that is sent, because counts in MPI 3 are ints.
/// Longer messages are sent in chunks.
inline constexpr size_t kMaxMpiMessage = size_t{1} << 30;

/// Options of the transport on this rank. Ranks may have different ones.
struct MpiOptions {
  /// True: device memory is passed to MPI. The default is true if MPI says that it is CUDA-aware.
  std::optional<bool> device_memory = {};
  /// True: messages are sent eagerly if their size allows it (mpi_eager.hpp). The default is true
  /// for peers on other machines.
  std::optional<bool> eager = {};
  size_t max_message = kMaxMpiMessage;  ///< size of the largest MPI message; tests reduce it
  /// How long a rank that waits polls before it sleeps between polls; the default is 5 ms.
  std::optional<std::chrono::microseconds> spin = {};
};

/// Returns a transport over a duplicate of `mpi`. Collective over `mpi`, within the deadline: it
/// duplicates the communicator and finds out which ranks are on other machines. The transport then
/// uses only point-to-point functions that do not wait for a peer.
///
/// Throws InvalidArgument if `mpi` is null or an intercommunicator, InvalidUsage if MPI is not
/// running or its thread level forbids this thread, Timeout, and SystemError.
std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              const MpiOptions& options = {});

/// Returns true if MPI, which is running, says that it accepts memory of CUDA devices. Returns
/// false if it does not say.
bool mpi_is_cuda_aware();

}  // namespace sparsecoll
