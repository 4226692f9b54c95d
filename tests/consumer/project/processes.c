/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sum over processes: each rank sends its number + 1 at entry 3. With FORTRAN_FORM the program
 * uses the function of sparsecoll.h, which takes the Fortran form of a communicator. */
#ifdef FORTRAN_FORM
#include <mpi.h>
#include <sparsecoll/sparsecoll.h>
#else
#include <sparsecoll/sparsecoll_mpi.h>
#endif
#include <stdio.h>

enum { kCount = 5 };

static sparsecollResult_t init(sparsecollComm_t* comm) {
#ifdef FORTRAN_FORM
  return sparsecollCommInitMpiFint(comm, MPI_Comm_c2f(MPI_COMM_WORLD), NULL);
#else
  return sparsecollCommInitMpi(comm, MPI_COMM_WORLD, NULL);
#endif
}

static int allreduce(sparsecollComm_t comm, int rank, int size) {
  float send[kCount] = {0};
  float received[kCount];
  int i;
  int wrong = 0;
  send[3] = (float)(rank + 1);
  if (sparseAllreduce(send, received, kCount, 1, sparsecollFloat32, sparsecollSum, NULL, comm,
                      NULL) != sparsecollSuccess) {
    fprintf(stderr, "rank %d: %s\n", rank, sparsecollGetLastError(comm));
    return 1;
  }
  for (i = 0; i < kCount; ++i)
    wrong += received[i] != (i == 3 ? (float)(size * (size + 1) / 2) : 0.0f);
  return wrong;
}

int main(int argc, char** argv) {
  sparsecollComm_t comm;
  int rank = 0;
  int size = 0;
  int wrong = 1;
  int wrong_anywhere = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (init(&comm) == sparsecollSuccess) {
    wrong = allreduce(comm, rank, size);
    wrong += sparsecollCommDestroy(comm) != sparsecollSuccess;
  } else {
    fprintf(stderr, "rank %d: %s\n", rank, sparsecollGetLastError(NULL));
  }
  MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("processes: %d wrong\n", wrong_anywhere);
  MPI_Finalize();
  return wrong_anywhere != 0;
}
