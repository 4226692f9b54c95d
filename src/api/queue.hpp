// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "api/completions.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

/// The queued calls of a communicator with blocking = 0. They run one after another, in the order
/// in which they were queued, on the queue's own thread.
class Queue {
 public:
  /// `completions` gets the numbers of the calls and how they end. `deliver` calls the functions of
  /// notifications that are due, on the queue's thread. `cpus`: the CPUs on which the thread may
  /// run; none: those of the calling thread.
  Queue(Completions& completions, std::function<void()> deliver, Cpus cpus = {});
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

  /// Lets the thread deliver notifications that are due, if no call runs.
  void wake();
  bool idle() const;
  /// Waits until all queued calls have run and the notifications that are due were delivered, or
  /// until `limit`. Returns false at the limit.
  bool wait_idle(std::chrono::steady_clock::time_point limit) const;
  void wait_idle() const;

 private:
  struct Task {
    uint64_t number;
    bool collective;
    std::string operation;
    std::function<void()> run;
  };

  void work();
  void run(Task& task) noexcept;
  /// The caller holds mutex_.
  bool nothing_to_do() const;

  Completions& completions_;
  const std::function<void()> deliver_;
  const Cpus cpus_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Task> tasks_;  ///< the first one may be running
  bool works_ = false;      ///< a call runs, or notifications are delivered
  bool ends_ = false;
  std::thread thread_;  ///< the last member, because it uses the others
};

}  // namespace sparsecoll
