// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/gossip_graph.hpp"

#include <vector>

namespace sparsecoll::fault {

GossipGraph::GossipGraph(Random& random) {
  if (random.one_in(3))
    seed_ = random.seed();
  else
    known_ = random.pick(test::kGraphs);
}

sparsecollPushSumConfig_t GossipGraph::config() {
  if (known_) return known_->config();
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.graph = sparsecollGraphCustom;
  config.outNeighbours = out_neighbours;
  config.user = this;
  return config;
}

/// Chooses a random set of other ranks, possibly none. The weights leave a part to the sender.
int GossipGraph::out_neighbours(void* user, int rank, int ranks, uint64_t step, int* neighbours,
                                double* weights, int capacity) {
  const uint64_t seed = static_cast<const GossipGraph*>(user)->seed_;
  int count = 0;
  for (int distance = 1; distance < ranks && count < capacity; ++distance) {
    const auto edge = static_cast<uint64_t>(rank * ranks + distance);
    if (test::noise(seed, step % 5, edge) % 2 == 0) continue;
    neighbours[count++] = (rank + distance) % ranks;
  }
  for (int i = 0; i < count; ++i) weights[i] = (1.0 + i % 2) / (2 * count + 1);
  return count;
}

oracle::MixingMatrix GossipGraph::matrix(int P, uint64_t step) const {
  if (known_) return known_->matrix(P, step);
  const auto ranks = static_cast<size_t>(P);
  oracle::MixingMatrix part(ranks, std::vector<double>(ranks, 0.0));
  for (size_t i = 0; i < ranks; ++i) {
    std::vector<int> to(ranks);
    std::vector<double> weights(ranks);
    GossipGraph self(*this);
    const int count =
        out_neighbours(&self, static_cast<int>(i), P, step, to.data(), weights.data(), P - 1);
    part[i][i] = 1;
    for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
      part[static_cast<size_t>(to[e])][i] = weights[e];
      part[i][i] -= weights[e];
    }
  }
  return part;
}

}  // namespace sparsecoll::fault
