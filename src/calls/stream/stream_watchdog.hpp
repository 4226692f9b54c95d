// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/deadline.hpp"
#include "core/error.hpp"
#include "kernels/device.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll {

/// Watches the calls in stream order of one communicator, which the host does not wait for.
///
/// A thread polls from time to time whether the calls are done, whether the transport works, and
/// whether the device has raised an alarm. If something is wrong, or the deadline of a call passes,
/// it keeps the failure and interrupts the transport, so that every stream goes on. The time of a
/// call begins with its first exchange on the device. Only failure() and interrupt() may be called
/// from any thread; everything else belongs to the thread that makes the calls.
class StreamWatchdog {
 public:
  struct Watched {
    StreamTransport& transport;
    Device& device;
    const Alarm* alarm;
    int timeout_ms;  ///< 0: no deadline
  };

  explicit StreamWatchdog(const Watched& watched);
  ~StreamWatchdog();
  StreamWatchdog(const StreamWatchdog&) = delete;
  StreamWatchdog& operator=(const StreamWatchdog&) = delete;

  /// Begins to watch a call, whose work is queued from now on.
  void begin_call(uint64_t sequence);
  /// Marks that the exchanges of this call begin with the work that is queued next. Only the first
  /// mark of a call counts.
  void start_exchanges(Device& device);
  /// Adds work of this call that runs concurrently with the rest. The event marks its end.
  void add_concurrent_work(const std::shared_ptr<Event>& end);
  /// Marks that all work of this call is queued.
  void end_call(Device& device) noexcept;
  /// Returns the number of the last call whose work ended before any failure, so that its received
  /// data are valid. Calls that ended in the last 10 ms before a failure may be missing.
  uint64_t ended();
  /// Returns whether the work of all calls has ended.
  bool idle();
  /// Throws the failure, if there is one.
  void check();
  /// Returns the first failure, if there is one. Any thread may call it.
  std::optional<Error> failure();
  /// Records the failure `why` and interrupts the transport. Any thread may call it.
  void interrupt(const Error& why) noexcept;
  /// Stops watching. May be called again.
  void stop();

 private:
  struct WatchedCall {
    uint64_t sequence;
    std::shared_ptr<Event> start;  ///< start of the call's first exchange; null: none was queued
    std::shared_ptr<Event> end, concurrent_end;
    bool started = false;
    std::optional<Clock::time_point> limit;
  };

  /// Runs in the thread.
  void work();
  void poll();
  /// Counts the calls whose work has ended.
  void advance();
  void check_transport();
  /// Throws if the device has raised an alarm.
  void check_alarm() const;
  /// Throws Timeout if the deadline of the oldest call has passed.
  void check_deadline(const WatchedCall& oldest);
  std::optional<WatchedCall> oldest() const;
  bool is_done(const WatchedCall& call) const;
  void interrupt_with(const std::exception& why) noexcept;

  const Watched watched_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WatchedCall> calls_;  ///< calls that are not known to be done
  std::optional<Error> failure_;
  uint64_t ended_ = 0;  ///< number of the last ended call; does not change after a failure
  bool stops_ = false;
  std::thread thread_;  ///< the last member, because the thread uses the others
};

}  // namespace sparsecoll
