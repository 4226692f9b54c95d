/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks as threads of this process make one sparseAllreduce with error feedback. */
#include <pthread.h>
#include <sparsecoll/sparsecoll.h>
#include <stdio.h>
#include <string.h>

enum { kRanks = 2, kCount = 8, kKept = 2 };

/* Rank 0 selects entries 1 and 4, rank 1 entries 1 and 6. The sums are 7, -3 and 8. The result has
 * the two largest of them, so that the residual of rank 0 keeps the -3. */
static const float kSend[kRanks][kCount] = {{0, 5, 1, 0, -3, 0, 1, 0}, {0, 2, 0, 1, 0, 0, 8, -1}};
static const float kResult[kCount] = {0, 7, 0, 0, 0, 0, 8, 0};
static const float kResidual[kRanks][kCount] = {{0, 0, 1, 0, -3, 0, 1, 0},
                                                {0, 0, 0, 1, 0, 0, 0, -1}};

typedef struct {
  int rank;
  sparsecollComm_t comm;
  int failures;
} Rank;

static void expect(Rank* self, int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s: %s\n", self->rank, what, sparsecollGetLastError(self->comm));
  ++self->failures;
}

static void* run(void* argument) {
  Rank* self = argument;
  float received[kCount];
  float left[kCount];
  sparsecollResidual_t residual = NULL;
  expect(self,
         sparsecollResidualCreate(&residual, kCount, sparsecollFloat32, self->comm) ==
             sparsecollSuccess,
         "sparsecollResidualCreate");
  expect(self,
         sparseAllreduce(kSend[self->rank], received, kCount, kKept, sparsecollFloat32,
                         sparsecollSum, residual, self->comm, NULL) == sparsecollSuccess,
         "sparseAllreduce");
  expect(self, memcmp(received, kResult, sizeof received) == 0, "wrong result");
  expect(self, sparsecollResidualRead(residual, left) == sparsecollSuccess,
         "sparsecollResidualRead");
  expect(self, memcmp(left, kResidual[self->rank], sizeof left) == 0, "wrong residual");
  return NULL;
}

int main(void) {
  sparsecollComm_t comms[kRanks];
  pthread_t threads[kRanks];
  Rank ranks[kRanks];
  int version = 0;
  int failures = 0;
  int r;
  if (sparsecollGetVersion(&version) != sparsecollSuccess || version != SPARSECOLL_VERSION) {
    fprintf(stderr, "library %d, header %d\n", version, SPARSECOLL_VERSION);
    return 1;
  }
  if (sparsecollCommInitAll(comms, kRanks, NULL, NULL) != sparsecollSuccess) {
    fprintf(stderr, "%s\n", sparsecollGetLastError(NULL));
    return 1;
  }
  for (r = 0; r < kRanks; ++r) {
    ranks[r].rank = r;
    ranks[r].comm = comms[r];
    ranks[r].failures = 0;
    if (pthread_create(&threads[r], NULL, run, &ranks[r]) != 0) return 1;
  }
  for (r = 0; r < kRanks; ++r) {
    pthread_join(threads[r], NULL);
    failures += ranks[r].failures;
  }
  for (r = 0; r < kRanks; ++r) failures += sparsecollCommDestroy(comms[r]) != sparsecollSuccess;
  printf("threads: %d failures\n", failures);
  return failures != 0;
}
