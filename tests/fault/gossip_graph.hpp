// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "fault/dice.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::fault {

/// A graph of the library's, or a custom one that a seed determines.
class GossipGraph {
 public:
  explicit GossipGraph(Dice& dice);

  std::string name() const { return known_ ? known_->name : "custom"; }
  /// For sparsecollPushSumCreate(); refers to this object.
  sparsecollPushSumConfig_t config();
  oracle::MixingMatrix matrix(int P, uint64_t step) const;

 private:
  static int out_neighbours(void* user, int rank, int ranks, uint64_t step, int* neighbours,
                            double* weights, int capacity);

  std::optional<test::GraphCase> known_;
  uint64_t seed_ = 0;
};

}  // namespace sparsecoll::fault
