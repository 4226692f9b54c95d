// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// The graphs of Stochastic Gradient Push (Assran, Loizou, Ballas, Rabbat, ICML 2019), for every P.
// Distances are modulo P; weights are uniform, 1 / (out-neighbours + 1).
#include "collectives/push_sum/graph.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/types.hpp"

namespace sparsecoll {

namespace {

/// Returns one peer, at distance 2^(t mod ceil(log2 P)).
std::vector<int> exponential(int rank, int ranks, uint64_t step) {
  const uint64_t distance = uint64_t{1} << (step % static_cast<uint64_t>(ceil_log2(ranks)));
  return {static_cast<int>((static_cast<uint64_t>(rank) + distance) % ranks)};
}

/// Returns p peers, at the distances j (p + 1)^i, j = 1..p, where i = t modulo the number of powers
/// of p + 1 below P. The rank itself and repeated peers are left out.
std::vector<int> n_peer(int rank, int ranks, const uint64_t step, int peers) {
  const uint64_t all = static_cast<uint64_t>(ranks), base = static_cast<uint64_t>(peers) + 1;
  std::vector<uint64_t> powers;
  for (uint64_t power = 1; power < all; power *= base) powers.push_back(power);
  const uint64_t power = powers[step % powers.size()];
  std::vector<int> found;
  // Distances repeat after P values of j.
  for (uint64_t j = 1; j < std::min(base, all); ++j) {
    const int peer = static_cast<int>((static_cast<uint64_t>(rank) + j * power) % all);
    if (peer != rank && std::ranges::find(found, peer) == found.end()) found.push_back(peer);
  }
  return found;
}

/// Even and odd ranks send to each other only: in turn forwards and backwards by 1, then by 1 + 2^i
/// for i = 1 .. log2(P - 1). If P is odd, a step past the last rank can join two even or two odd
/// ranks. Such peers are left out, and so are repeated ones.
std::vector<int> bipartite(int rank, int ranks, uint64_t step) {
  const int64_t all = ranks;
  std::vector<int> peers;
  const auto add = [&](int64_t peer) {
    const int other = static_cast<int>(((peer % all) + all) % all);
    if ((other - rank) % 2 != 0 && std::ranges::find(peers, other) == peers.end())
      peers.push_back(other);
  };
  for (int64_t power = 1; power <= std::max<int64_t>(all - 1, 1); power *= 2) {
    const int64_t distance = power == 1 ? 1 : 1 + power;
    add(rank + distance);
    add(rank - distance);
  }
  return {peers[step % peers.size()]};
}

}  // namespace

std::vector<int> Graph::destinations(int rank, uint64_t step) const {
  switch (choice_.kind) {
    case GraphKind::exponential:
      return exponential(rank, ranks_, step);
    case GraphKind::n_peer_exponential:
      return n_peer(rank, ranks_, step, choice_.peers);
    case GraphKind::ring:
      return {(rank + 1) % ranks_};
    case GraphKind::bipartite_exponential:
      return bipartite(rank, ranks_, step);
    case GraphKind::custom:
      break;
  }
  return {};
}

std::vector<Neighbour> Graph::out_neighbours(int rank, uint64_t step) const {
  if (choice_.kind == GraphKind::custom) return ask(rank, step);
  if (ranks_ == 1) return {};
  const std::vector<int> peers = destinations(rank, step);
  std::vector<Neighbour> neighbours;
  for (const int peer : peers)
    neighbours.push_back({peer, 1.0 / (static_cast<double>(peers.size()) + 1)});
  return neighbours;
}

std::vector<Neighbour> Graph::ask(int rank, uint64_t step) const {
  const auto wrong = [&](const auto&... parts) {
    fail(sparsecollInvalidArgument, "config.outNeighbours(rank ", rank, ", step ", step,
         "): ", parts...);
  };
  const int most = ranks_ - 1;
  std::vector<int> peers(static_cast<size_t>(ranks_), -1);
  std::vector<double> weights(static_cast<size_t>(ranks_));
  int count = 0;
  try {
    count = choice_.custom(choice_.user, rank, ranks_, step, peers.data(), weights.data(), most);
  } catch (const std::exception& error) {
    wrong("expected neighbours, got an exception: ", error.what());
  } catch (...) {
    wrong("expected neighbours, got an exception that is no std::exception");
  }
  if (count < 0 || count > most) wrong("expected 0 to ", most, " neighbours, got ", count);
  std::vector<Neighbour> neighbours;
  double given = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const int peer = peers[i];
    if (peer < 0 || peer >= ranks_ || peer == rank)
      wrong("expected other ranks below ", ranks_, ", got ", peer);
    if (std::ranges::find(neighbours, peer, &Neighbour::rank) != neighbours.end())
      wrong("expected every neighbour once, got ", peer, " twice");
    if (!(weights[i] > 0) || !std::isfinite(weights[i]))
      wrong("expected weights above 0, got ", weights[i]);
    neighbours.push_back({peer, weights[i]});
    given += weights[i];
  }
  // Weights such as 1/3 add up to a little more than they should.
  if (given > 1 + 1e-12) wrong("expected weights whose sum is at most 1, got ", given);
  return neighbours;
}

std::vector<int> Graph::in_neighbours(int rank, uint64_t step) const {
  std::vector<int> found;
  for (int other = 0; other < ranks_; ++other)
    if (other != rank && sends(other, rank, step)) found.push_back(other);
  return found;
}

bool Graph::sends(int from, int to, uint64_t step) const {
  const std::vector<Neighbour> neighbours = out_neighbours(from, step);
  return std::ranges::find(neighbours, to, &Neighbour::rank) != neighbours.end();
}

}  // namespace sparsecoll
