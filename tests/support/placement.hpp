// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks on nodes of any size and in any order, by splits of a communicator whose ranks go to nodes
// of SPARSECOLL_RANKS_PER_NODE.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/config.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {

/// A child communicator: its handles and the nodes of its ranks, by rank. Rank r of the parent is
/// on node r / size.
struct Part {
  std::vector<sparsecollComm_t> comms;
  std::vector<int> nodes;
};

/// Splits off the ranks for which takes(rank) is true, ordered by key(rank). Each node of `whole`
/// has `size` ranks.
template <class Takes, class Key>
Part split(const Ranks& whole, int size, Takes takes, Key key) {
  std::vector<sparsecollComm_t> of_rank(whole.comms().size());
  const std::string verdict = whole.run("split", [&](int rank) {
    const int color = takes(rank) ? 0 : SPARSECOLL_SPLIT_NOCOLOR;
    const sparsecollResult_t result = sparsecollCommSplit(
        whole.comm(rank), color, key(rank), &of_rank[static_cast<std::size_t>(rank)], nullptr);
    return expect("split", result, sparsecollSuccess, whole.comm(rank));
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
  std::vector<int> members;
  for (int rank = 0; rank < whole.size(); ++rank) {
    if (takes(rank)) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return key(a) < key(b); });
  Part part;
  for (const int rank : members) {
    part.comms.push_back(of_rank[static_cast<std::size_t>(rank)]);
    part.nodes.push_back(rank / size);
  }
  return part;
}

}  // namespace sparsecoll::test
