// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "deadline.h"

#include <algorithm>

namespace train {

bool Deadline::passed(std::size_t step, double elapsed) {
  if (seconds_ == 0 || step < next_) return false;
  const double slowest = world_.max(elapsed);
  if (slowest >= seconds_) return true;
  const auto done = static_cast<double>(step);
  const double quarter = (seconds_ - slowest) / 4 * done / slowest;  // in steps
  next_ = step + static_cast<std::size_t>(std::clamp(quarter, 1.0, done));
  return false;
}

}  // namespace train
