// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "calls/link.hpp"
#include "core/error.hpp"

namespace sparsecoll {

/// Whether a communicator can still be used. Keeps its first fatal error, which every later call
/// returns, and the message of its last error. Any thread may call any method.
class Health {
 public:
  /// `link` outlives this object. It reports failures of calls that nobody waits for.
  explicit Health(Link& link) : link_(link) {}

  /// Throws the first fatal error, if there is one.
  void check() const;
  /// Returns the code of the first fatal error; sparsecollSuccess if there is none.
  sparsecollResult_t code() const;

  /// Makes this the first fatal error, unless there is one already. Does not ask the link.
  void poison(sparsecollResult_t code, const char* why) noexcept;
  /// Makes this the first fatal error, unless there is one already or the link has failed before.
  void poison(const Error& error);
  /// Makes every later call return InvalidArgument, whatever happened before: a thread may have
  /// found the handle just before the communicator was destroyed.
  void set_destroyed() noexcept;
  /// Throws the first fatal error. There is one.
  [[noreturn]] void throw_poison() const;

  /// Keeps a message for sparsecollGetLastError().
  void set_last_error(std::string message);
  /// Returns that message, which is valid until the next error.
  const char* last_error() const;

 private:
  /// With mutex_ held.
  void set(sparsecollResult_t code, const char* why) noexcept;

  Link& link_;
  mutable std::mutex mutex_;  ///< guards all members below
  sparsecollResult_t code_ = sparsecollSuccess;
  std::string why_;
  std::string last_error_;
};

}  // namespace sparsecoll
