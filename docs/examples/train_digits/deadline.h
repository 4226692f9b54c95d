// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "world.h"

namespace train {

/// When the time is up, for all ranks after the same step.
///
/// To ask the others makes every rank wait for the slowest, which the gossip modes are there to
/// avoid. So it is done rarely: after the first step, and from then on after as many steps as a
/// quarter of the time left would take at the pace so far, but at the latest when there are twice
/// as many. What all ranks know alike, the slowest one's time, says when; a training goes on for a
/// step too many at most, if its pace does not change.
class Deadline {
 public:
  /// `seconds` of training on the slowest rank; 0 = for ever.
  Deadline(double seconds, World& world) : seconds_(seconds), world_(world) {}

  /// Collective. `step`: how many are done, `elapsed`: seconds that they took this rank.
  bool passed(std::size_t step, double elapsed);

 private:
  double seconds_;
  World& world_;
  std::size_t next_ = 1;
};

}  // namespace train
