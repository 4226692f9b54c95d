// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/flight_signal.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "api/communicator.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The data that the signal handler uses. Never destroyed, because a signal may arrive at any time.
struct Watch {
  std::mutex mutex;               ///< held while a handler is installed
  std::atomic<int> event{-1};     ///< wakes the thread
  std::atomic<pid_t> process{0};  ///< the process of the thread; a forked child has no thread
  struct sigaction before[NSIG] = {};
  bool installed[NSIG] = {};
};

Watch& watch() {
  static auto& watch = *new Watch;
  return watch;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  Watch& w = watch();
  const uint64_t one = 1;
  if (w.process == getpid() && write(w.event, &one, sizeof one) < 0) {
    // The counter of the event is full: the thread will wake anyway.
  }
  const struct sigaction& before = w.before[signal];
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
  errno = error;
}

void write_records(int event) {
  for (uint64_t count = 0;;) {
    if (read(event, &count, sizeof count) != sizeof count) {
      if (errno == EINTR) continue;
      return;
    }
    try {
      for (const auto& each : communicators().all())
        if (!each->is_inherited()) each->write_flight_record(FlightRecordCause::signal);
    } catch (const std::bad_alloc&) {
      // Out of memory. The next signal tries again.
    }
  }
}

/// Starts the thread. It blocks all signals, so that the program's handlers do not run on it.
void start_thread(int event) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(write_records, event).detach();
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(event);
    fail(sparsecollSystemError, "no thread for flight records: ", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void write_records_at(int signal) {
  Watch& w = watch();
  const std::lock_guard lock(w.mutex);
  if (w.process != getpid()) {
    const int event = eventfd(0, EFD_CLOEXEC);
    if (event < 0) fail(sparsecollSystemError, "eventfd: ", std::strerror(errno));
    start_thread(event);
    w.event = event;
    w.process = getpid();
  }
  if (w.installed[signal]) return;
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, nullptr, &w.before[signal]) != 0 ||
      sigaction(signal, &action, nullptr) != 0)
    fail(sparsecollSystemError, "sigaction: ", std::strerror(errno));
  w.installed[signal] = true;
}

}  // namespace sparsecoll
