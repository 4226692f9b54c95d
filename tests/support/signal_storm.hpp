// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace sparsecoll::test {

/// While it exists, a timer sends a signal every millisecond. Its handler does nothing and is
/// installed without SA_RESTART, so that system calls which wait return with EINTR.
class SignalStorm {
 public:
  enum class To { thread, process };
  /// `to`: this thread, or any thread of the process that does not block the signal.
  explicit SignalStorm(To to = To::thread);
  ~SignalStorm();
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;

  /// Returns how many signals this process has handled.
  static std::uint64_t handled();

 private:
  timer_t timer_{};
};

/// Returns "" if a storm interrupts this thread's system calls.
std::string storm_interrupts();

}  // namespace sparsecoll::test
