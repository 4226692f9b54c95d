// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sparsecoll {

/// The graphs of push-sum, which say who sends to whom in a step. The numbers are those of
/// sparsecollGraphKind_t in the C API.
enum class GraphKind : int {
  exponential = 0,
  n_peer_exponential = 1,
  ring = 2,
  bipartite_exponential = 3,
  custom = 4,
};

/// A user's graph: a function that writes the out-neighbours of any rank in any step and returns
/// their number.
using OutNeighbours = int (*)(void* user, int rank, int ranks, uint64_t step, int* neighbours,
                              double* weights, int capacity);

/// A rank to send to, and the part p of (x, w) that goes there.
struct Neighbour {
  int rank;
  double share;
};

/// A sequence of directed graphs over the ranks, one for each step. Every rank can work out the
/// neighbours of every other. No rank is its own neighbour, none is listed twice; a single rank has
/// none.
class Graph {
 public:
  struct Choice {
    GraphKind kind = GraphKind::exponential;
    int peers = 1;                   ///< the out-neighbours of a rank in the n-peer graph
    OutNeighbours custom = nullptr;  ///< the function of a custom graph
    void* user = nullptr;
  };

  Graph(const Choice& choice, int ranks) : choice_(choice), ranks_(ranks) {}

  const Choice& choice() const { return choice_; }
  int ranks() const { return ranks_; }

  /// Returns the ranks to which `rank` sends in this step. Throws InvalidArgument if a custom graph
  /// does not give distinct other ranks with positive weights whose sum is at most 1.
  std::vector<Neighbour> out_neighbours(int rank, uint64_t step) const;
  /// Returns the ranks that send to `rank` in this step, in rising order.
  std::vector<int> in_neighbours(int rank, uint64_t step) const;
  bool sends(int from, int to, uint64_t step) const;

 private:
  std::vector<int> destinations(int rank, uint64_t step) const;
  std::vector<Neighbour> ask(int rank, uint64_t step) const;

  Choice choice_;
  int ranks_;
};

}  // namespace sparsecoll
