// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The registry of sparse allreduce algorithms, and Auto: the alpha-beta-gamma model.
//
// A message costs alpha, a byte beta, an entry that is added gamma (network.hpp); one that only
// takes its place among others costs half of that, and a value without an index a sixteenth. Of j
// messages that are under way together each costs a quarter of alpha, which is a round trip's worth
// of software on both sides, and all of them alpha at least: alpha(j) = max(1, j / 4) alpha,
// nothing for none. x entries have b(x) bytes: a value each and, coded, 2 + log2(n / x) bits of
// index. With e entries a rank (k; for k = SPARSECOLL_ALL, or where all of a dense vector is
// selected, what the last call had) and u in the result (k; for k = SPARSECOLL_ALL what the last
// call had; for a whole vector at most min(P e, n)), of values of v bytes:
//   Allgather: ceil(log2 P) alpha + (P - 1) (b(e) beta + e gamma)
//   Oktopk:    alpha(P - 1) + ceil(log2 P) alpha
//              + (P - 1) / P ((b(e) + b(u)) beta + (e + u / 2) gamma)
//   TopkA2A:   the same with u = min(P e, n)
//   Dense:     alpha(P - 1) + ceil(log2 P) alpha + 2 n (P - 1) / P (v beta + gamma / 16)
//   Hierarchical, with at most m ranks on a node, alpha and beta within nodes:
//              alpha(m - 1) + (m - 1) (b(e) beta + e gamma)
//              + Oktopk between leaders with min(m e, n) entries each
//              + ceil(log2 m) (alpha + b(u) beta + u / 2 gamma)
// The logarithms are the allgather's, whose long messages are under way together too, which is left
// out, and the tree's within a node. Sums of counters for cuts and thresholds are left out: where
// calls resemble the last ones there are few.
#include "collectives/registry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsecoll {

namespace {

/// Straight lines between the powers of two: the same on every processor, which log2() is not.
double rough_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // x = mantissa 2^exponent, in [0.5, 1)
  return exponent - 1 + (2 * mantissa - 1);
}

/// Bytes of so many entries among n.
double bytes_of(double entries, const Shape& shape) {
  if (entries == 0) return 0;
  const double n = static_cast<double>(shape.count);
  const double index = std::min(2 + rough_log2(n / entries), n / entries);  // coded, or a bitmap
  return entries * (static_cast<double>(shape.value_size) + index / 8);
}

/// Seconds of so many messages that are under way together, but for their bytes.
double together(double messages, double alpha) {
  return messages > 0 ? std::max(1.0, messages / 4) * alpha : 0;
}

/// What goes into an exchange and comes out of it, in entries a rank.
struct Volume {
  double own;
  double result;
};

double oktopk_seconds(const Volume& volume, const Shape& shape, const Network& network) {
  const double ranks = shape.ranks, rounds = ceil_log2(static_cast<uint64_t>(shape.ranks));
  const auto [alpha, beta, gamma] = network;
  return together(ranks - 1, alpha) + rounds * alpha +
         (ranks - 1) / ranks *
             ((bytes_of(volume.own, shape) + bytes_of(volume.result, shape)) * beta +
              (volume.own + volume.result / 2) * gamma);
}

double hierarchical_seconds(const Volume& volume, const Shape& shape, const Nodes& nodes) {
  const double others = nodes.largest - 1;
  const double rounds = ceil_log2(static_cast<uint64_t>(nodes.largest));
  const auto [alpha, beta, gamma] = nodes.within;
  Shape between = shape;
  between.ranks = nodes.count;
  const Volume of_node{std::min(nodes.largest * volume.own, static_cast<double>(shape.count)),
                       volume.result};
  return together(others, alpha) +
         others * (bytes_of(volume.own, shape) * beta + volume.own * gamma) +
         oktopk_seconds(of_node, between, nodes.leaders) +
         rounds * (alpha + bytes_of(volume.result, shape) * beta + volume.result / 2 * gamma);
}

constexpr AlgorithmEntry kAlgorithms[] = {
    {AlgorithmId::automatic, "auto", nullptr, LocalPart::topk},
    {AlgorithmId::allgather, "allgather", allgather_topk, LocalPart::topk},
    {AlgorithmId::oktopk, "oktopk", oktopk, LocalPart::topk},
    {AlgorithmId::topka2a, "topka2a", topka2a, LocalPart::shards},
    {AlgorithmId::hierarchical, "hierarchical", hierarchical, LocalPart::topk},
    {AlgorithmId::dense, "dense", dense_allreduce, LocalPart::everything},
};

constexpr AlgorithmEntry kWhole{AlgorithmId::dense, "dense", dense_allreduce, LocalPart::whole};
constexpr AlgorithmEntry kReusing{AlgorithmId::oktopk, "oktopk", oktopk_reuse, LocalPart::above};

}  // namespace

const AlgorithmEntry& reusing_oktopk() { return kReusing; }

const AlgorithmEntry& dense_of_whole() { return kWhole; }

std::span<const AlgorithmEntry> algorithms() { return kAlgorithms; }

const AlgorithmEntry* find_algorithm(int id) {
  for (const AlgorithmEntry& each : kAlgorithms)
    if (static_cast<int>(each.id) == id) return &each;
  return nullptr;
}

double predicted_seconds(AlgorithmId id, const Shape& shape, const Network& network) {
  const double ranks = shape.ranks, rounds = ceil_log2(static_cast<uint64_t>(shape.ranks));
  const double n = static_cast<double>(shape.count);
  const bool counted = shape.k == kAll || (shape.whole && shape.entries > 0);
  const double own = std::min(
      counted ? static_cast<double>(shape.entries) / ranks : static_cast<double>(shape.k), n);
  const double most = std::min(own * ranks, n);
  const double sum = shape.result > 0 ? std::min(static_cast<double>(shape.result), most) : most;
  const double result = counted ? sum : own;
  const double share = (ranks - 1) / ranks;
  const auto [alpha, beta, gamma] = network;
  switch (id) {
    case AlgorithmId::allgather:
      return rounds * alpha + (ranks - 1) * (bytes_of(own, shape) * beta + own * gamma);
    case AlgorithmId::oktopk:
      return oktopk_seconds({own, result}, shape, network);
    case AlgorithmId::hierarchical:
      if (!shape.nodes) return std::numeric_limits<double>::infinity();
      return hierarchical_seconds({own, result}, shape, *shape.nodes);
    case AlgorithmId::topka2a:
      return oktopk_seconds({own, most}, shape, network);
    case AlgorithmId::dense:
      return together(ranks - 1, alpha) + rounds * alpha +
             share * 2 * n * (static_cast<double>(shape.value_size) * beta + gamma / 16);
    case AlgorithmId::automatic:
      break;
  }
  return 0;
}

const AlgorithmEntry& choose_algorithm(const Shape& shape, const Network& network) {
  const auto seconds = [&](AlgorithmId id) { return predicted_seconds(id, shape, network); };
  AlgorithmId best = AlgorithmId::oktopk;
  // Nothing is known of the first exact sum of a shape: take what is never far off.
  const bool unknown = shape.k == kAll && shape.entries == 0;
  if (!unknown && seconds(AlgorithmId::allgather) <= seconds(best)) best = AlgorithmId::allgather;
  if (shape.k != kAll && seconds(AlgorithmId::hierarchical) < seconds(best))
    best = AlgorithmId::hierarchical;
  if (shape.whole && shape.entries > 0 && seconds(AlgorithmId::dense) < seconds(best))
    return dense_of_whole();
  return *find_algorithm(static_cast<int>(best));
}

}  // namespace sparsecoll
