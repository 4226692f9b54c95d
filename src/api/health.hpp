// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/error.hpp"

namespace sparsecoll {

class StreamLink;

/// Knows whether a communicator can still be used. Keeps its first fatal error, which every later
/// call returns, and the message of its last error. Any thread may call any method.
class Health {
 public:
  /// `stream_link` reports failures of calls that have returned already. It outlives this object.
  /// It is null if no call can fail after it has returned.
  explicit Health(StreamLink* stream_link) : stream_link_(stream_link) {}

  /// Throws the first fatal error, if there is one.
  void check() const;
  /// Returns the code of the first fatal error; sparsecollSuccess if there is none.
  sparsecollResult_t code() const;

  /// Returns the first fatal error that a function has returned. Never waits for the device.
  std::optional<Error> kept() const;

  /// Makes this the first fatal error, unless there is one already. Ignores failures of calls that
  /// have returned.
  void poison(sparsecollResult_t code, const char* why) noexcept;
  /// Makes this the first fatal error, unless there is one already, or a call that has returned
  /// failed before.
  void poison(const Error& error);
  /// Makes every later call return InvalidArgument, whatever happened before: a thread may have
  /// found the handle just before the communicator was destroyed.
  void set_destroyed() noexcept;
  /// Throws the first fatal error, which exists.
  [[noreturn]] void throw_poison() const;

  /// Keeps a message for sparsecollGetLastError() in the calling thread.
  void set_last_error(std::string message);
  /// Returns the last message of the calling thread, or of any thread if the calling thread has
  /// none. Valid until this thread calls one of these two methods again.
  const char* last_error();

 private:
  /// The caller holds mutex_.
  void set(sparsecollResult_t code, const char* why) noexcept;

  /// Returns the first failure of calls that have returned already. May wait for the device.
  std::optional<Error> late_failure() const;

  StreamLink* const stream_link_;
  mutable std::mutex mutex_;                                 ///< guards all members below
  std::atomic<sparsecollResult_t> code_{sparsecollSuccess};  ///< can be read without the lock
  std::string why_;
  /// The last message of a thread, and the message that last_error() has returned to it.
  struct LastError {
    std::string own, shown;
  };
  std::string last_error_;  ///< the last message of any thread
  std::map<std::thread::id, LastError> last_errors_;
};

}  // namespace sparsecoll
