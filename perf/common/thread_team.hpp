// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace sparsecoll::perf {

/// Threads that share a loop with their caller, for passes over memory. Each is bound to a CPU, to
/// one of its own if there are enough. The library has its own threads.
class ThreadTeam {
 public:
  explicit ThreadTeam(std::size_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Runs work(begin, end) for equal parts of [0, count), one on each thread. Waits for all.
  void run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work);

 private:
  void serve(std::size_t part);
  void do_part(std::size_t part) const;

  std::size_t threads_;
  std::barrier<> barrier_;
  std::size_t count_ = 0;
  const std::function<void(std::size_t, std::size_t)>* work_ = nullptr;  ///< null: the threads end
  std::vector<std::thread> others_;
};

}  // namespace sparsecoll::perf
