// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum by its definition: mixing matrices, and mass that moves between ranks and messages.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sparsecoll::oracle {

/// part[j][i] is the share that rank i sends to rank j in one step; part[i][i] is the share that it
/// keeps.
using MixingMatrix = std::vector<std::vector<double>>;

enum class GraphKind { kExponential, kNPeer, kRing, kBipartite };

/// Returns the matrix of step t for P ranks. `peers` is for the n-peer graph.
MixingMatrix mixing_matrix(GraphKind kind, int peers, int P, std::uint64_t t);

/// Numerators and weights of all ranks, and the messages in flight. Ranks make steps in any order.
/// A message is available when its receiver looks next.
class PushSumReplay {
 public:
  /// How x is sent: uncompressed, or k entries at a time with the share `mixing`.
  struct Compression {
    std::size_t k = 0;  ///< 0: whole
    double mixing = 1;
  };

  PushSumReplay(std::vector<std::vector<double>> x, Compression compression);
  explicit PushSumReplay(std::vector<std::vector<double>> x)
      : PushSumReplay(std::move(x), Compression()) {}

  int ranks() const { return static_cast<int>(x_.size()); }
  const std::vector<double>& x(int rank) const { return x_[static_cast<std::size_t>(rank)]; }
  double weight(int rank) const { return w_[static_cast<std::size_t>(rank)]; }
  /// Sums over ranks and messages.
  std::vector<double> sum_of_x() const;
  double sum_of_w() const;
  /// Sums over messages only.
  std::vector<double> x_under_way() const;
  double w_under_way() const;

  /// One rank sends by this matrix, keeps the rest, and adds the messages that have arrived.
  void step(int rank, const MixingMatrix& matrix);
  /// All ranks send, and then all add: a step without delay.
  void step_of_all(const MixingMatrix& matrix);
  /// Delivers all messages in flight.
  void drain();

 private:
  struct Message {
    int from;
    std::vector<double> body;  ///< mass, or the change of the receiver's copy
    double part;
    double weight;
  };
  using Vectors = std::vector<std::vector<double>>;

  void send(int rank, const MixingMatrix& matrix);
  void take_in(int rank);
  std::vector<double> changed(int from, int to);

  Compression compression_;
  Vectors x_;
  std::vector<double> w_;
  std::vector<std::vector<Message>> inbox_;
  std::vector<Vectors> sender_knows_;    ///< [from][to]
  std::vector<Vectors> receiver_knows_;  ///< [from][to]
};

}  // namespace sparsecoll::oracle
