// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/statistics.hpp"

#include "calls/stream/stream_link.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll {

void Statistics::add(const Stats& call) {
  const std::lock_guard lock(mutex_);
  last_ = call;
  total_.add(call);
}

void Statistics::reset() {
  const std::lock_guard lock(mutex_);
  last_ = total_ = Stats{};
}

Stats Statistics::last() const {
  std::unique_lock lock(mutex_);
  Stats stats = last_;
  lock.unlock();
  if (stats.counts_on_device) {
    const DeviceTotals* const device = stream_link_->totals();
    stats.selected += device->last_selected;
    stats.result += device->last_result;
  }
  return stats;
}

Stats Statistics::total() const {
  std::unique_lock lock(mutex_);
  Stats stats = total_;
  lock.unlock();
  if (stats.counts_on_device) {
    const DeviceTotals* const device = stream_link_->totals();
    stats.selected += device->selected;
    stats.result += device->result;
  }
  return stats;
}

}  // namespace sparsecoll
