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

/// Looks after the calls in stream order of one communicator, which nobody waits for: a thread that
/// asks from time to time whether they are done, the transport whether it is well, and the device
/// whether it raised an alarm. When something is wrong, or a call's deadline passes, which begins
/// with its first exchange on the device, it interrupts the transport, so that every stream goes
/// on; the failure stays.
class StreamWatchdog {
 public:
  struct Watched {
    StreamTransport& transport;
    Device& device;
    const Alarm* alarm;
    int timeout_ms;  ///< 0: none
  };

  explicit StreamWatchdog(const Watched& charge);
  ~StreamWatchdog();
  StreamWatchdog(const StreamWatchdog&) = delete;
  StreamWatchdog& operator=(const StreamWatchdog&) = delete;

  /// A call is made from now on, until ends().
  void begins(uint64_t sequence);
  /// Its exchanges begin with what is queued next. In the call's thread, as all but failure() and
  /// interrupt().
  void starts(Device& device);
  /// Some of it is queued beside the rest, until then.
  void goes_on_beside(const std::shared_ptr<Event>& end);
  /// All of it is queued.
  void ends(Device& device) noexcept;
  /// Throws the failure, if there is one.
  void check();
  /// From any thread: what has gone wrong, as far as the device has told.
  std::optional<Error> failure();
  /// From any thread: as if `why` had been found.
  void interrupt(const Error& why) noexcept;
  /// Looks after nothing any more, once or often.
  void stop();

 private:
  struct Call {
    uint64_t sequence;
    std::shared_ptr<Event> start, end, beside;
    bool started = false;
    std::optional<Clock::time_point> limit;
  };

  void work();
  void look();
  void look_at_transport();
  void look_at_alarm() const;
  void look_at(const Call& call);
  std::optional<Call> first() const;
  bool is_done(const Call& call) const;
  void interrupt_with(const std::exception& why) noexcept;

  const Watched charge_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;  ///< not known to be done
  std::optional<Error> failure_;
  bool stops_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace sparsecoll
