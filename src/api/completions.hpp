// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "api/failures.hpp"

namespace sparsecoll {

/// A function of the caller's that waits for the end of a call.
struct Notification {
  uint64_t number;  ///< the number of the call
  sparsecollNotify_t done;
  void* user;
};

/// Tracks the collective calls of a communicator by number: which have begun, which have ended,
/// with what result, and who waits for that. Numbers rise by one, and calls end in order. Any
/// thread may call any method.
class Completions {
 public:
  Completions() { callers_.reserve(1); }

  /// Returns the number of the last call that was made or queued; 0: none.
  uint64_t issued() const;
  /// Makes `number` that of the last call.
  void issue(uint64_t number);
  /// Takes back the number of a call that did not start.
  void withdraw(uint64_t number);
  /// Marks that a call, and all before it, have ended.
  void end(uint64_t number) noexcept;
  /// Records how a call failed. Before end().
  void fail(uint64_t number, const CallError& error) noexcept;
  /// Keeps an error that no function has returned yet, for take_failure().
  void tell_later(uint64_t number, const CallError& error) noexcept;

  /// Waits until a call has ended. Returns false if there is none with this number.
  bool wait(uint64_t number) const;
  /// Takes the first error of tell_later() among those up to `number`; see Failures::take().
  std::optional<Failure> take_failure(uint64_t number);
  /// Returns how a call that has ended failed; none if it succeeded.
  std::optional<Failure> failure_of(uint64_t number) const;
  /// Returns the result of a call that has ended.
  sparsecollResult_t result_of(uint64_t number) const;

  /// Keeps a notification until take_due() returns it. Returns false if take_due() will not be
  /// called any more.
  bool add(const Notification& notification);
  /// Returns whether there is a notification whose call has ended.
  bool has_due() const;
  /// Takes the first notification whose call has ended.
  std::optional<Notification> take_due();
  /// If no notification waits, refuses all from now on and returns true. Otherwise returns false.
  bool close();

  /// Calls the function of a notification. Throws InvalidUsage if the function throws.
  void call(const Notification& notification, sparsecollResult_t result);
  /// Returns whether the calling thread is inside of call().
  bool calls_here() const;

 private:
  class Inside;

  mutable std::mutex mutex_;  ///< guards all members below
  mutable std::condition_variable ended_;
  uint64_t issued_ = 0;
  uint64_t done_ = 0;
  Failures untold_;
  Failures all_;
  std::vector<Notification> waiting_;
  bool closed_ = false;
  std::vector<std::thread::id> callers_;  ///< the threads that are in call()
  std::atomic<size_t> callers_count_{0};  ///< their number, which can be read without the lock
};

}  // namespace sparsecoll
