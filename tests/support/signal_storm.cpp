// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/signal_storm.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#ifndef sigev_notify_thread_id  // older C libraries have no name for it
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace sparsecoll::test {

namespace {

constexpr long kPeriod = 1'000'000;  // ns

std::atomic<std::uint64_t> signals{0};

int signal_number() { return SIGRTMIN + 2; }

}  // namespace

SignalStorm::SignalStorm(To to) {
  struct sigaction action {};
  action.sa_handler = [](int) { signals.fetch_add(1, std::memory_order_relaxed); };
  sigaction(signal_number(), &action, nullptr);
  sigevent event{};
  event.sigev_notify = to == To::thread ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
  event.sigev_signo = signal_number();
  if (to == To::thread) event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  const itimerspec every{{0, kPeriod}, {0, kPeriod}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0 ||
      timer_settime(timer_, 0, &every, nullptr) != 0)
    throw std::runtime_error("no timer");
}

SignalStorm::~SignalStorm() { timer_delete(timer_); }

std::uint64_t SignalStorm::handled() { return signals.load(std::memory_order_relaxed); }

std::string storm_interrupts() {
  const SignalStorm storm;
  const timespec second{1, 0};
  for (int i = 0; i < 10; ++i)
    if (nanosleep(&second, nullptr) == 0 || errno != EINTR) return "the storm interrupts nothing";
  return "";
}

}  // namespace sparsecoll::test
