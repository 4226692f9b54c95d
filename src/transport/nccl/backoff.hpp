// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace sparsecoll::nccl {

/// Waits between two polls of an operation that may take microseconds, or much longer. wait() first
/// yields the CPU, and then sleeps for times that grow to a millisecond.
class Backoff {
 public:
  void wait() {
    if (yields_ < kYields) {
      ++yields_;
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, std::chrono::microseconds(1000));
  }

 private:
  static constexpr int kYields = 50;
  int yields_ = 0;
  std::chrono::microseconds sleep_{5};
};

}  // namespace sparsecoll::nccl
