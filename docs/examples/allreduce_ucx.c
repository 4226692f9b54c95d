/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The program allreduce.c without MPI: perf/launch -n 4 ./allreduce_ucx. A launcher says in RANK,
 * WORLD_SIZE, MASTER_ADDR and MASTER_PORT who this process is and where rank 0 can be found. */
#include <netdb.h>
#include <sparsecoll/sparsecoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { n = 1000000, k = n / 100 };
static float gradient[n], mean[n];

static void stop(const char* why, const char* what) {
  fprintf(stderr, "%s: %s\n", why, what);
  exit(EXIT_FAILURE);
}

static void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result != sparsecollSuccess)
    stop(sparsecollGetErrorString(result), sparsecollGetLastError(comm));
}

static const char* variable(const char* name) {
  const char* value = getenv(name);
  if (!value) stop(name, "is not set; start this program with perf/launch -n 4");
  return value;
}

/* Brings the id of rank 0 to all ranks, over TCP. A program that has a store of its own, files that
 * all ranks see, or another library of messages uses that instead. */
static void share(sparsecollUniqueId* id, int rank, int P) {
  struct addrinfo hints = {0}, *at = NULL;
  int reuse = 1, line;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(variable("MASTER_ADDR"), variable("MASTER_PORT"), &hints, &at) != 0)
    stop("MASTER_ADDR, MASTER_PORT", "no address");
  line = socket(at->ai_family, SOCK_STREAM, 0);
  if (rank == 0) {
    setsockopt(line, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (bind(line, at->ai_addr, at->ai_addrlen) != 0 || listen(line, P) != 0)
      stop("MASTER_PORT", "is in use");
    for (int r = 1; r < P; ++r) {
      const int peer = accept(line, NULL, NULL);
      if (send(peer, id, sizeof *id, MSG_NOSIGNAL) != (ssize_t)sizeof *id)
        stop("rank 0", "a rank has ended");
      close(peer);
    }
  } else {
    int tries = 0;
    while (connect(line, at->ai_addr, at->ai_addrlen) != 0) { /* until rank 0 listens */
      if (++tries == 60) stop("MASTER_ADDR", "rank 0 does not come");
      close(line);
      sleep(1);
      line = socket(at->ai_family, SOCK_STREAM, 0);
    }
    if (recv(line, id, sizeof *id, MSG_WAITALL) != (ssize_t)sizeof *id)
      stop("MASTER_ADDR", "rank 0 has ended");
  }
  close(line);
  freeaddrinfo(at);
}

int main(void) {
  const int rank = atoi(variable("RANK")), P = atoi(variable("WORLD_SIZE"));
  sparsecollUniqueId id;
  sparsecollComm_t comm = NULL;
  sparsecollResidual_t residual = NULL; /* one for each tensor; zeros at first */
  if (rank == 0) check(sparsecollGetUniqueId(&id), NULL);
  share(&id, rank, P);
  check(sparsecollCommInitRank(&comm, P, id, rank, NULL), NULL);
  check(sparsecollResidualCreate(&residual, n, sparsecollFloat32, comm), comm);
  for (int step = 0; step < 10; ++step) {
    for (int i = 0; i < n; ++i) gradient[i] = 1.0f / (float)(1 + rand() % n); /* your gradient */
    check(sparseAllreduce(gradient, mean, n, k, sparsecollFloat32, sparsecollAvg, residual, comm,
                          NULL),
          comm);
  }
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  check(sparsecollCommGetStats(comm, sparsecollStatsLast, &stats), comm);
  printf("%zu of %d entries in the mean, %zu bytes sent\n", stats.result, n, stats.bytesSent);
  check(sparsecollCommDestroy(comm), comm); /* frees its residuals */
  return stats.result == k ? EXIT_SUCCESS : EXIT_FAILURE;
}
