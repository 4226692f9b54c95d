/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The layout of the C header, with which layout.f90 compares the Fortran types. */
#include <sparsecoll/sparsecoll.h>
#include <string.h>

int is_version(int version);
int fresh_structures(const sparsecollSparse_t* sparse, const sparsecollConfig_t* config,
                     const sparsecollStats_t* stats, size_t all);
void fill_structures(sparsecollSparse_t* sparse, sparsecollConfig_t* config,
                     sparsecollStats_t* stats);
int fresh_gossip(const sparsecollPushSumConfig_t* gossip);
void fill_gossip(sparsecollPushSumConfig_t* gossip);
int fresh_topology(const sparsecollTopology_t* topology);
void fill_topology(sparsecollTopology_t* topology);

int is_version(int version) { return version == SPARSECOLL_VERSION; }

int fresh_structures(const sparsecollSparse_t* sparse, const sparsecollConfig_t* config,
                     const sparsecollStats_t* stats, size_t all) {
  const sparsecollSparse_t s = SPARSECOLL_SPARSE_INITIALIZER;
  const sparsecollConfig_t c = SPARSECOLL_CONFIG_INITIALIZER;
  const sparsecollStats_t t = SPARSECOLL_STATS_INITIALIZER;
  /* Padding follows `algorithm`. */
  const size_t head = offsetof(sparsecollStats_t, algorithm) + sizeof t.algorithm;
  const size_t tail = offsetof(sparsecollStats_t, bytesSent);
  /* And `nonFinite`. */
  const size_t fields = offsetof(sparsecollConfig_t, nonFinite) + sizeof c.nonFinite;
  return memcmp(sparse, &s, sizeof s) == 0 && memcmp(config, &c, fields) == 0 &&
         memcmp(stats, &t, head) == 0 &&
         memcmp((const char*)stats + tail, (const char*)&t + tail, sizeof t - tail) == 0 &&
         all == SPARSECOLL_ALL;
}

/* Sets each field to its number. */
void fill_structures(sparsecollSparse_t* sparse, sparsecollConfig_t* config,
                     sparsecollStats_t* stats) {
  const sparsecollSparse_t s = {1, 2, 3, 4, 5, NULL, NULL, 6, 7, NULL, 8, {NULL, NULL, NULL}};
  const sparsecollConfig_t c = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const sparsecollStats_t t = {0, 1, 2, 3, 4, 5, 6, 7, 8, 1.0, 2.0, 3.0, 4.0, 9, 10};
  *sparse = s;
  *config = c;
  *stats = t;
}

int fresh_gossip(const sparsecollPushSumConfig_t* gossip) {
  const sparsecollPushSumConfig_t g = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  return gossip->size == g.size && gossip->magic == g.magic && gossip->version == g.version &&
         gossip->graph == g.graph && gossip->peers == g.peers && gossip->maxDelay == g.maxDelay &&
         gossip->k == g.k && gossip->mixing == g.mixing &&
         gossip->outNeighbours == g.outNeighbours && gossip->user == g.user;
}

void fill_gossip(sparsecollPushSumConfig_t* gossip) {
  const sparsecollPushSumConfig_t g = {0, 1, 2, 3, 4, 5, 6, 7.0, NULL, NULL};
  *gossip = g;
}

int fresh_topology(const sparsecollTopology_t* topology) {
  const sparsecollTopology_t t = SPARSECOLL_TOPOLOGY_INITIALIZER;
  /* Padding follows `threads`. */
  return memcmp(topology, &t, offsetof(sparsecollTopology_t, threads) + sizeof t.threads) == 0;
}

/* Sets each field to its number, and elements of an array to 10 times that plus their own. */
void fill_topology(sparsecollTopology_t* topology) {
  const sparsecollTopology_t t = {0,
                                  1,
                                  2,
                                  3,
                                  {41, 42, 43, 44, 45, 46, 47, 48},
                                  {51, 52, 53, 54, 55, 56, 57, 58},
                                  {61, 62, 63, 64, 65, 66, 67, 68},
                                  "source",
                                  8,
                                  9,
                                  10};
  *topology = t;
}
