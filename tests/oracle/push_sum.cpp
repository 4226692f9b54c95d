// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/push_sum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace sparsecoll::oracle {

namespace {

/// Lists the distances at which rank i sends in step t.
std::set<int> destinations(GraphKind kind, int peers, int P, std::uint64_t t, int i) {
  std::set<int> to;
  if (P == 1) return to;
  const auto at = [&](long long distance) {
    return static_cast<int>(((i + distance) % P + P) % P);
  };
  if (kind == GraphKind::kRing) return {at(1)};
  if (kind == GraphKind::kExponential) {
    std::vector<int> cycle;
    for (int distance = 1; distance < P; distance += distance) cycle.push_back(at(distance));
    return {cycle[t % cycle.size()]};
  }
  if (kind == GraphKind::kNPeer) {
    std::vector<long long> powers;
    for (long long power = 1; power < P; power *= peers + 1) powers.push_back(power);
    for (int j = 1; j <= peers; ++j) to.insert(at(j * powers[t % powers.size()]));
    to.erase(i);
    return to;
  }
  std::vector<int> cycle;
  for (long long hop = 0; hop == 0 || (1LL << hop) < P; ++hop)
    for (const int sign : {1, -1}) {
      const int other = at(sign * (hop == 0 ? 1 : 1 + (1LL << hop)));
      const bool even_to_odd = (i % 2 == 0) != (other % 2 == 0);
      if (even_to_odd && std::find(cycle.begin(), cycle.end(), other) == cycle.end())
        cycle.push_back(other);
    }
  return {cycle[t % cycle.size()]};
}

void add(std::vector<double>& to, const std::vector<double>& values, double factor) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * values[i];
}

}  // namespace

MixingMatrix mixing_matrix(GraphKind kind, int peers, int P, std::uint64_t t) {
  const auto ranks = static_cast<std::size_t>(P);
  MixingMatrix matrix(ranks, std::vector<double>(ranks, 0.0));
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::set<int> to = destinations(kind, peers, P, t, static_cast<int>(i));
    const double part = 1.0 / static_cast<double>(to.size() + 1);
    for (const int j : to) matrix[static_cast<std::size_t>(j)][i] = part;
    matrix[i][i] = part;
  }
  return matrix;
}

PushSumReplay::PushSumReplay(std::vector<std::vector<double>> x, Compression compression)
    : compression_(compression), x_(std::move(x)), w_(x_.size(), 1.0), inbox_(x_.size()) {
  const std::vector<double> nothing(x_.empty() ? 0 : x_[0].size(), 0.0);
  sender_knows_.assign(x_.size(), Vectors(x_.size(), nothing));
  receiver_knows_ = sender_knows_;
}

std::vector<double> PushSumReplay::changed(int from, int to) {
  const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
  std::vector<double>& known = sender_knows_[f][t];
  std::vector<double> change(known.size());
  for (std::size_t i = 0; i < change.size(); ++i) change[i] = x_[f][i] - known[i];
  std::vector<std::size_t> order(change.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(change[a]) > std::fabs(change[b]);
  });
  for (std::size_t i = std::min(compression_.k, order.size()); i < order.size(); ++i)
    change[order[i]] = 0;
  add(known, change, 1);
  return change;
}

void PushSumReplay::send(int rank, const MixingMatrix& matrix) {
  const auto r = static_cast<std::size_t>(rank);
  const std::vector<double> before = x_[r];
  const double weight = w_[r];
  std::vector<double> leaves(before.size(), 0.0);
  for (std::size_t j = 0; j < x_.size(); ++j) {
    if (j == r || matrix[j][r] == 0) continue;
    Message message{rank, {}, matrix[j][r] * compression_.mixing, 0};
    message.weight = message.part * weight;
    w_[r] -= message.weight;
    if (compression_.k > 0) {
      message.body = changed(rank, static_cast<int>(j));
      add(leaves, sender_knows_[r][j], message.part);
    } else {
      message.body.assign(before.size(), 0.0);
      add(message.body, before, message.part);
      add(leaves, message.body, 1);
    }
    inbox_[j].push_back(std::move(message));
  }
  add(x_[r], leaves, -1);
}

void PushSumReplay::take_in(int rank) {
  const auto r = static_cast<std::size_t>(rank);
  for (const Message& message : inbox_[r]) {
    w_[r] += message.weight;
    if (compression_.k == 0) {
      add(x_[r], message.body, 1);
      continue;
    }
    std::vector<double>& known = receiver_knows_[static_cast<std::size_t>(message.from)][r];
    add(known, message.body, 1);
    add(x_[r], known, message.part);
  }
  inbox_[r].clear();
}

void PushSumReplay::step(int rank, const MixingMatrix& matrix) {
  send(rank, matrix);
  take_in(rank);
}

void PushSumReplay::step_of_all(const MixingMatrix& matrix) {
  for (int r = 0; r < ranks(); ++r) send(r, matrix);
  drain();
}

void PushSumReplay::drain() {
  for (int r = 0; r < ranks(); ++r) take_in(r);
}

std::vector<double> PushSumReplay::x_under_way() const {
  PushSumReplay arrived = *this;
  std::vector<double> sum(x_.empty() ? 0 : x_[0].size(), 0.0);
  arrived.drain();
  for (std::size_t r = 0; r < x_.size(); ++r) {
    add(sum, arrived.x_[r], 1);
    add(sum, x_[r], -1);
  }
  return sum;
}

double PushSumReplay::w_under_way() const {
  double sum = 0;
  for (const auto& messages : inbox_)
    for (const Message& message : messages) sum += message.weight;
  return sum;
}

std::vector<double> PushSumReplay::sum_of_x() const {
  std::vector<double> sum = x_under_way();
  for (const auto& x : x_) add(sum, x, 1);
  return sum;
}

double PushSumReplay::sum_of_w() const {
  double sum = w_under_way();
  for (const double w : w_) sum += w;
  return sum;
}

}  // namespace sparsecoll::oracle
