/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SPARSECOLL_SPARSECOLL_MPI_H_
#define SPARSECOLL_SPARSECOLL_MPI_H_

/**
 * @file
 * @brief Communicators over MPI: the one function that takes an MPI_Comm.
 */

#include <mpi.h>
#include <sparsecoll/sparsecoll.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Makes a communicator over the ranks of `mpi`. Collective over `mpi`.
 *
 * Duplicates `mpi`, so that no message of the library ever meets one of the caller. MPI must be
 * initialised, at any thread level; below MPI_THREAD_MULTIPLE all calls on the communicator come
 * from the thread that MPI allows (SINGLE, FUNNELED: the one that initialised MPI).
 *
 * @param comm   out.
 * @param mpi    an intracommunicator; stays the caller's.
 * @param config NULL = defaults. All ranks agree on it and on the environment, but for the device.
 * @return sparsecollInvalidArgument; sparsecollInvalidUsage when MPI is not running, when the
 *         thread level does not allow this thread, or when the ranks' configurations differ (the
 *         message names rank and variable); sparsecollTimeout; sparsecollSystemError. On failure
 *         there is no communicator and sparsecollGetLastError(NULL) explains.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitMpi(sparsecollComm_t* comm, MPI_Comm mpi,
                                                        const sparsecollConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif /* SPARSECOLL_SPARSECOLL_MPI_H_ */
