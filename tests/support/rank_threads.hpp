// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/hang_guard.hpp"

namespace sparsecoll::test {

/// A thread for each rank. The threads sleep between runs, because starting them anew takes longer
/// than many a run. One caller at a time.
///
/// Each rank returns its errors as text, or "" if it has none, because only the main thread may use
/// Catch2's assertions.
class RankThreads {
 public:
  explicit RankThreads(int ranks, std::chrono::milliseconds limit = kHangLimit);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  /// Runs body(rank) on each rank's thread. Returns the texts of all ranks; an exception becomes a
  /// text. A run that lasts longer than the limit ends the process and names the ranks inside.
  std::string run(const std::string& what, const std::function<std::string(int)>& body);

 private:
  void serve(std::size_t rank);

  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable finished_;
  const std::function<std::string(int)>* body_ = nullptr;
  std::uint64_t runs_ = 0;
  std::vector<bool> inside_;
  std::size_t unfinished_ = 0;
  bool over_ = false;
  std::vector<std::string> verdicts_;
  std::vector<std::thread> threads_;
};

}  // namespace sparsecoll::test
