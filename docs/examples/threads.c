/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Sparse sums without MPI: the ranks are threads of one process. The program also shows what error
 * feedback guarantees: nothing is lost. The delivered sums and the residuals together are the sum
 * of all inputs. */
#include <pthread.h>
#include <sparsecoll/sparsecoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { P = 4, n = 10000, k = n / 100, steps = 100 };

struct rank {
  sparsecollComm_t comm;
  pthread_t thread;
  float input[n], delivered[n]; /* sums over all steps */
  float residual[n];            /* the values that were not delivered */
};

static struct rank ranks[P];

static void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  fprintf(stderr, "%s: %s\n", sparsecollGetErrorString(result), sparsecollGetLastError(comm));
  exit(EXIT_FAILURE); /* ends all threads, because the others would wait for this one */
}

static void* run(void* argument) {
  struct rank* const me = argument;
  sparsecollResidual_t residual = NULL;
  unsigned bits = (unsigned)(me - ranks);
  float vector[n];
  check(sparsecollResidualCreate(&residual, n, sparsecollFloat32, me->comm), me->comm);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i) {
      bits = bits * 1664525u + 1013904223u;
      vector[i] = (float)(bits >> 24) - 128.0f; /* an integer, so that sums are exact */
      me->input[i] += vector[i];
    }
    check(sparseAllreduce(vector, vector, n, k, sparsecollFloat32, sparsecollSum, residual,
                          me->comm, NULL),
          me->comm);
    for (int i = 0; i < n; ++i) me->delivered[i] += vector[i];
  }
  check(sparsecollResidualRead(residual, me->residual), me->comm);
  return NULL;
}

int main(void) {
  sparsecollComm_t comms[P];
  check(sparsecollCommInitAll(comms, P, NULL, NULL), NULL);
  for (int r = 0; r < P; ++r) {
    ranks[r].comm = comms[r];
    if (pthread_create(&ranks[r].thread, NULL, run, &ranks[r]) != 0) return EXIT_FAILURE;
  }
  for (int r = 0; r < P; ++r) pthread_join(ranks[r].thread, NULL);
  for (int r = 0; r < P; ++r) check(sparsecollCommDestroy(comms[r]), comms[r]);

  int lost = 0;
  for (int i = 0; i < n; ++i) {
    float missing = -ranks[0].delivered[i]; /* equal on all ranks */
    for (int r = 0; r < P; ++r) missing += ranks[r].input[i] - ranks[r].residual[i];
    if (missing != 0.0f) ++lost;
  }
  printf("%d of %d entries a step, %d entries lost something\n", k, n, lost);
  return lost == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
