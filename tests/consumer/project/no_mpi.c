/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * no_mpi shared|static: asks for a communicator over MPI where there is no library for it. */
#include <sparsecoll/sparsecoll.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const int is_static = argc > 1 && strcmp(argv[1], "static") == 0;
  const sparsecollResult_t expected = is_static ? sparsecollInvalidUsage : sparsecollSystemError;
  const char* file = is_static ? "libsparsecoll_mpi.a" : "libsparsecoll_mpi.so.0";
  sparsecollComm_t comm = NULL;
  const sparsecollResult_t result = sparsecollCommInitMpiFint(&comm, 0, NULL);
  const char* message = sparsecollGetLastError(NULL);
  const int good = result == expected && !comm && strstr(message, file);
  printf("no_mpi: %s: %d, %s\n", good ? "good" : "wrong", (int)result, message);
  return good ? 0 : 1;
}
