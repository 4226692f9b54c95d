/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Replaces an MPI_Allreduce of gradients by a sparse one: mpirun -n 4 ./allreduce */
#include <sparsecoll/sparsecoll_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1000000, k = n / 100 };
static float gradient[n], mean[n];

static void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  fprintf(stderr, "%s: %s\n", sparsecollGetErrorString(result), sparsecollGetLastError(comm));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int argc, char** argv) {
  sparsecollComm_t comm = NULL;
  sparsecollResidual_t residual = NULL; /* one for each tensor; zeros at first */
  MPI_Init(&argc, &argv);
  check(sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, NULL), NULL);
  check(sparsecollResidualCreate(&residual, n, sparsecollFloat32, comm), comm);
  for (int step = 0; step < 10; ++step) {
    for (int i = 0; i < n; ++i) gradient[i] = 1.0f / (float)(1 + rand() % n); /* your gradient */
    /* This call replaces MPI_Allreduce(gradient, mean, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) and a
     * division by P. */
    check(sparseAllreduce(gradient, mean, n, k, sparsecollFloat32, sparsecollAvg, residual, comm,
                          NULL),
          comm);
  }
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  check(sparsecollCommGetStats(comm, sparsecollStatsLast, &stats), comm);
  printf("%zu of %d entries in the mean, %zu bytes sent\n", stats.result, n, stats.bytesSent);
  check(sparsecollCommDestroy(comm), comm); /* frees its residuals; must precede MPI_Finalize */
  MPI_Finalize();
  return stats.result == k ? EXIT_SUCCESS : EXIT_FAILURE;
}
