// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace sparsecoll::nccl {

/// Between two looks at something that is mostly done within microseconds, and else takes long.
class Pause {
 public:
  void rest() {
    if (turns_ < kTurns) {
      ++turns_;
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, std::chrono::microseconds(1000));
  }

 private:
  static constexpr int kTurns = 50;
  int turns_ = 0;
  std::chrono::microseconds length_{5};
};

}  // namespace sparsecoll::nccl
