// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_SPARSECOLL_MPI_HPP_
#define SPARSECOLL_SPARSECOLL_MPI_HPP_

/// @file
/// @brief Communicators over MPI for C++: sparsecoll.hpp and the only function that takes an
///        MPI_Comm.

#include <sparsecoll/sparsecoll_mpi.h>

#include <sparsecoll/sparsecoll.hpp>

namespace sparsecoll {
inline namespace cxx {

/// Makes a communicator over the ranks of `mpi`. Collective. Destroy it before MPI_Finalize.
/// @param mpi    an intracommunicator; the caller keeps it.
/// @param config the configuration; without it, the defaults.
inline Communicator initMpi(MPI_Comm mpi, const Config& config = {}) {
  sparsecollComm_t made = nullptr;
  detail::check(sparsecollCommInitMpi(&made, mpi, &config), "sparsecollCommInitMpi", nullptr);
  return Communicator(made);
}

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_SPARSECOLL_MPI_HPP_
