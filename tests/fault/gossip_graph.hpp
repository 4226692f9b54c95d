// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "fault/random.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::fault {

/// One of the predefined graphs, or a custom graph that a seed determines.
class GossipGraph {
 public:
  explicit GossipGraph(Random& random);

  std::string name() const { return known_ ? known_->name : "custom"; }
  /// Returns the configuration for sparsecollPushSumCreate(). It refers to this object.
  sparsecollPushSumConfig_t config();
  oracle::MixingMatrix matrix(int P, uint64_t step) const;

 private:
  static int out_neighbours(void* user, int rank, int ranks, uint64_t step, int* neighbours,
                            double* weights, int capacity);

  std::optional<test::GraphCase> known_;
  uint64_t seed_ = 0;
};

}  // namespace sparsecoll::fault
