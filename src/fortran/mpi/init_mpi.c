/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */

/* In Fortran an MPI communicator is a number, which only MPI converts to one of C. */
#include <sparsecoll/sparsecoll_mpi.h>

sparsecollResult_t sparsecoll_fortran_init_mpi(sparsecollComm_t* comm, const MPI_Fint* mpi,
                                               const sparsecollConfig_t* config);

sparsecollResult_t sparsecoll_fortran_init_mpi(sparsecollComm_t* comm, const MPI_Fint* mpi,
                                               const sparsecollConfig_t* config) {
  return sparsecollCommInitMpi(comm, MPI_Comm_f2c(*mpi), config);
}
