/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SPARSECOLL_SPARSECOLL_MPI_H_
#define SPARSECOLL_SPARSECOLL_MPI_H_

/**
 * @file
 * @brief Communicators over MPI: the only function of the C API that takes an MPI_Comm. It is in a
 *        library of its own, libsparsecoll_mpi.
 */

#include <mpi.h>
#include <sparsecoll/sparsecoll.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @ingroup communicators
 * @brief Makes a communicator over the ranks of `mpi`. Collective over `mpi`.
 *
 * The function duplicates `mpi`, so that the library's messages never match those of the caller.
 * MPI must be initialised, at any thread level. Below MPI_THREAD_MULTIPLE only the thread that MPI
 * allows may use the communicator (with SINGLE and FUNNELED, the one that initialised MPI).
 *
 * @param comm   out.
 * @param mpi    an intracommunicator; the caller keeps it.
 * @param config NULL = defaults. All ranks must agree on it and on the environment variables,
 * except for the device.
 * @return sparsecollInvalidArgument; sparsecollInvalidUsage when MPI is not running, when the
 *         thread level does not allow this thread, or when the ranks' configurations differ (the
 *         message names rank and variable); sparsecollTimeout; sparsecollSystemError. On failure
 *         there is no communicator, and sparsecollGetLastError(NULL) says why.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitMpi(sparsecollComm_t* comm, MPI_Comm mpi,
                                                        const sparsecollConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif /* SPARSECOLL_SPARSECOLL_MPI_H_ */
