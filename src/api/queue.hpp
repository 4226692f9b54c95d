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

namespace sparsecoll {

/// The calls of a communicator with blocking = 0: they run one after another, in the order in which
/// they were queued, on the queue's own thread.
class Queue {
 public:
  /// What a call left that failed, for whoever waits for it.
  struct Failure {
    uint64_t number;
    std::string operation;
    Error error;
  };

  Queue() : thread_(&Queue::work, this) {}
  ~Queue() { stop(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Waits for the calls that are queued, and ends the thread; nothing is queued any more.
  void stop();

  enum class Kind { collective, local };
  /// True on the queue's own thread.
  bool runs_here() const { return std::this_thread::get_id() == thread_.get_id(); }
  /// `run` throws Error. Local calls have the number of the collective call before them.
  void push(Kind kind, std::string operation, std::function<void()> run);

  /// Number of the last collective call that was queued; 0 = none.
  uint64_t issued() const;
  /// Collective call `number` is made now. One that was not queued, as nothing else was then, takes
  /// the next number here too.
  void begin(uint64_t number);
  bool idle() const;
  /// Until all that is queued has run, or until `limit`; false then.
  bool wait_idle(std::chrono::steady_clock::time_point limit) const;
  void wait_idle() const;
  /// Until collective call `number` is done.
  void wait(uint64_t number) const;
  /// The first failure among the calls up to `number` that was not taken yet. A fatal one takes
  /// those after it, up to `number`, along: they follow from it.
  std::optional<Failure> take_failure(uint64_t number);

 private:
  struct Task {
    uint64_t number;
    bool collective;
    std::string operation;
    std::function<void()> run;
  };

  void work();
  void note(const Task& task, sparsecollResult_t code, const char* why) noexcept;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Task> tasks_;  ///< the first one may be running
  std::vector<Failure> failures_;
  uint64_t issued_ = 0;
  uint64_t done_ = 0;
  bool ends_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace sparsecoll
