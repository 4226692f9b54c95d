// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

/// The queued calls of a communicator with blocking = 0. They run one after another, in the order
/// in which they were queued, on the queue's own thread.
class Queue {
 public:
  /// A failed call, or several in a row, for the function that waits for them.
  struct Failure {
    uint64_t first;
    uint64_t last;
    std::string operation;  ///< of the first one
    Error error;            ///< of the first one
  };
  /// The number of failures that are kept. To make room for another one, the newest two of calls in
  /// a row become one. If no two are in a row, the last two do, and cover the calls between them.
  static constexpr size_t kKeptFailures = 1024;

  /// `cpus`: those on which the thread may run; none: wherever the calling thread may.
  explicit Queue(Cpus cpus = {});
  ~Queue() { stop(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Waits for the queued calls and ends the thread. Nothing may be queued afterwards.
  void stop();

  enum class Kind { collective, local };
  /// Returns true on the queue's own thread.
  bool runs_here() const { return std::this_thread::get_id() == thread_.get_id(); }
  /// Queues a call. `run` throws Error. A local call has the number of the collective call before
  /// it.
  void push(Kind kind, std::string operation, std::function<void()> run);

  /// Returns the number of the last queued collective call; 0: none.
  uint64_t issued() const;
  /// Marks that collective call `number` runs now. A call that runs without the queue, because
  /// nothing is queued, takes its number here.
  void begin(uint64_t number);
  bool idle() const;
  /// Waits until all queued calls have run, or until `limit`. Returns false at the limit.
  bool wait_idle(std::chrono::steady_clock::time_point limit) const;
  void wait_idle() const;
  /// Waits until collective call `number` has run.
  void wait(uint64_t number) const;
  /// Takes the first failure among the calls up to `number` that was not taken yet. Failures that
  /// became one are taken together, up to `number`. A fatal failure also takes the later ones up to
  /// `number`, which follow from it.
  std::optional<Failure> take_failure(uint64_t number);

 private:
  struct Task {
    uint64_t number;
    bool collective;
    std::string operation;
    std::function<void()> run;
  };

  void work();
  void record_failure(const Task& task, sparsecollResult_t code, const char* why) noexcept;
  /// Makes room for one more failure.
  void join_failures() noexcept;

  const Cpus cpus_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Task> tasks_;         ///< the first one may be running
  std::vector<Failure> failures_;  ///< by number
  uint64_t issued_ = 0;
  uint64_t done_ = 0;
  bool ends_ = false;
  std::thread thread_;  ///< the last member, because it uses the others
};

}  // namespace sparsecoll
