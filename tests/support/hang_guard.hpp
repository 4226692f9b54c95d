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

/// Less than the limits of ctest for tests with ranks, so that a guard says which ranks hang.
inline constexpr std::chrono::milliseconds kHangLimit = std::chrono::seconds(550);

/// Ends the process and names the ranks r with inside[r]. A rank that hangs cannot be unwound, so
/// only the end of the process helps.
[[noreturn]] void end_hung_process(const std::string& what, std::chrono::milliseconds limit,
                                   const std::vector<bool>& inside);

/// Ends the process if its scope lasts too long, and names the ranks that have not left.
class HangGuard {
 public:
  HangGuard(std::string what, int ranks, std::chrono::milliseconds limit = kHangLimit);
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
