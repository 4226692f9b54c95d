// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sparsecoll::test {

/// Ends the process if its scope lasts too long, and lists the ranks that have not left. A rank
/// that hangs cannot be unwound, so only the end of the process helps.
class HangGuard {
 public:
  /// The default limit is a little less than that of ctest, so that the guard says which ranks
  /// hang.
  HangGuard(std::string what, int ranks,
            std::chrono::milliseconds limit = std::chrono::seconds(550));
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

  void leave(int rank) { inside_[static_cast<std::size_t>(rank)] = false; }

 private:
  void watch(std::chrono::milliseconds limit);

  std::string what_;
  std::vector<std::atomic<bool>> inside_;
  std::mutex mutex_;
  std::condition_variable over_changed_;
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace sparsecoll::test
