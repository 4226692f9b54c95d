// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the end of a communicator if calls of NCCL do not return. Those of a real NCCL may not.

#include "transport/nccl/communicator.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::nccl {
namespace {

using std::chrono::milliseconds;

/// How the scripted functions of NCCL behave, and how often they were called.
struct Script {
  std::atomic<int> aborted{0}, destroyed{0}, polled{0};
  std::atomic<bool> held{false};  ///< abort and destroy do not return
  std::atomic<int> inside{0};     ///< threads that ask for errors
  std::atomic<int> poll_us{0};    ///< time that asking takes, in microseconds
  std::atomic<bool> calling{false}, aborted_in_call{false}, destroyed_in_call{false};
  std::atomic<ncclResult_t> state{ncclSuccess};
  std::atomic<ncclComm_t> last_aborted{nullptr};
};

Script& script() {
  static Script all;
  return all;
}

/// Returns when the script does not hold calls any more.
void hold() {
  while (script().held) std::this_thread::sleep_for(milliseconds(1));
}

Library scripted_library() {
  Library library{};
  library.error_string = [](ncclResult_t) { return "scripted"; };
  library.last_error = [](ncclComm_t) { return "an earlier message"; };
  library.async_error = [](ncclComm_t, ncclResult_t* state) {
    ++script().inside;
    ++script().polled;
    *state = script().state;
    std::this_thread::sleep_for(std::chrono::microseconds(script().poll_us));
    --script().inside;
    return ncclSuccess;
  };
  library.comm_finalize = [](ncclComm_t) { return ncclInProgress; };
  library.comm_abort = [](ncclComm_t comm) {
    if (script().calling || script().inside > 0) script().aborted_in_call = true;
    ++script().aborted;
    script().last_aborted = comm;
    hold();
    return ncclSuccess;
  };
  library.comm_destroy = [](ncclComm_t) {
    if (script().inside > 0) script().destroyed_in_call = true;
    ++script().destroyed;
    hold();
    return ncclSuccess;
  };
  return library;
}

/// Returns a handle for the scripted functions.
ncclComm_t handle(int number = 0) {
  static int handles[2];
  return reinterpret_cast<ncclComm_t>(&handles[number]);
}

/// Resets the script, and releases held calls at the end.
class ScriptScope {
 public:
  ScriptScope() {
    script().aborted = script().destroyed = script().polled = 0;
    script().state = ncclSuccess;
    script().calling = script().aborted_in_call = script().destroyed_in_call = false;
    script().poll_us = 0;
  }
  ~ScriptScope() { script().held = false; }
};

/// Waits until there were `least` aborts, for 20 s. Returns their number. Each is called in a
/// thread of its own, which may start late.
int aborts(int least) {
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(20);
  while (script().aborted < least && Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  return script().aborted;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Function>
sparsecollResult_t code_of(Function function, std::string* text = nullptr) {
  try {
    function();
  } catch (const Error& error) {
    if (text) *text = error.what();
    return error.code();
  }
  return sparsecollSuccess;
}

/// Interrupts. Returns what is wrong if that takes a second.
std::string interrupt_in_time(Communicator& communicator) {
  const Clock::time_point start = Clock::now();
  communicator.interrupt();
  const double seconds = seconds_since(start);
  return seconds < 1 ? "" : text("late: after ", seconds, " s");
}

std::string interrupt_with_an_abort_that_hangs() {
  const ScriptScope scope;
  script().held = true;  // NCCL waits like this for a graph to be destroyed
  Communicator communicator(scripted_library(), handle(), 0);
  const std::string late = interrupt_in_time(communicator);
  CHECK(aborts(1) == 1);
  return late;
}

TEST_CASE("interrupt() does not wait for an abort that hangs") {
  CHECK(test::unless_late_by_chance(interrupt_with_an_abort_that_hangs) == "");
}

std::string interrupt_beside_a_call_that_stays() {
  const ScriptScope scope;
  Communicator communicator(scripted_library(), handle(), 0);
  std::atomic<bool> inside{false}, released{false};
  std::thread caller([&] {
    const Communicator::CallScope scope_of_call(communicator);
    inside = true;
    while (!released) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!inside) std::this_thread::yield();
  communicator.check();  // returns, because the other call will notice errors
  CHECK(script().polled == 0);
  const std::string late = interrupt_in_time(communicator);
  CHECK(aborts(1) == 1);
  released = true;
  caller.join();
  CHECK(code_of([&] { communicator.check(); }) == sparsecollInvalidUsage);
  return late;
}

TEST_CASE("interrupt() aborts although a call of NCCL does not return") {
  CHECK(test::unless_late_by_chance(interrupt_beside_a_call_that_stays) == "");
}

/// Interrupts while a call runs that returns 200 ms after it has begun.
std::string interrupt_beside_a_slow_call() {
  const ScriptScope scope;
  Communicator communicator(scripted_library(), handle(), 0);
  std::atomic<bool> begun{false};  // stays true if this thread gets no CPU until the call has ended
  std::thread caller([&] {
    const Communicator::CallScope scope_of_call(communicator);
    script().calling = true;
    begun = true;
    std::this_thread::sleep_for(milliseconds(200));
    script().calling = false;
  });
  while (!begun) std::this_thread::yield();
  communicator.interrupt();
  CHECK(aborts(1) == 1);
  caller.join();
  return script().aborted_in_call ? "the call returned too late" : "";
}

TEST_CASE("interrupt() does not abort before a slow call of NCCL has returned") {
  CHECK(test::unless_late_by_chance(interrupt_beside_a_slow_call) == "");
}

TEST_CASE("interrupt() does not abort before a thread that asks for errors has returned") {
  const ScriptScope scope;
  script().poll_us = 600'000;  // longer than interrupt() waits for other calls
  Communicator communicator(scripted_library(), handle(), 0);
  std::thread asking([&] { communicator.check(); });
  while (script().polled == 0) std::this_thread::yield();
  communicator.interrupt();
  CHECK(aborts(1) == 1);
  asking.join();
  CHECK_FALSE(script().aborted_in_call);
}

TEST_CASE("interrupt() after close() does nothing") {
  const ScriptScope scope;
  Communicator communicator(scripted_library(), handle(), 0);
  communicator.close(Deadline::after(10000));
  communicator.interrupt();
  CHECK(script().destroyed == 1);
  CHECK(script().aborted == 0);
}

TEST_CASE("close() does not destroy before a thread that asks for errors has returned") {
  const ScriptScope scope;
  script().poll_us = 200;
  for (int round = 0; round < 50; ++round) {
    Communicator communicator(scripted_library(), handle(), 0);
    std::atomic<bool> ended{false};
    std::thread asking([&] {
      while (!ended && code_of([&] { communicator.check(); }) == sparsecollSuccess) continue;
    });
    communicator.close(Deadline::after(10000));
    ended = true;
    asking.join();
  }
  CHECK(script().destroyed == 50);
  CHECK_FALSE(script().destroyed_in_call);
}

TEST_CASE("close() takes too long: Timeout") {
  const ScriptScope scope;
  std::string why;
  {
    Communicator communicator(scripted_library(), handle(), 0);
    script().state = ncclInProgress;
    CHECK(code_of([&] { communicator.close(Deadline::after(20)); }, &why) == sparsecollTimeout);
    CHECK(why.find("a CUDA graph") != std::string::npos);
    CHECK(script().destroyed == 0);
    script().state = ncclSuccess;
  }
  CHECK(aborts(1) == 1);  // by its destructor
  Communicator communicator(scripted_library(), handle(), 0);
  script().held = true;
  CHECK(code_of([&] { communicator.close(Deadline::after(20)); }, &why) == sparsecollTimeout);
  CHECK(why.find("ncclCommDestroy") != std::string::npos);
}

TEST_CASE("interrupt() aborts the child that a failed split has left, after the parent") {
  const ScriptScope scope;
  Library library = scripted_library();
  library.comm_split = [](ncclComm_t, int, int, ncclComm_t* child, ncclConfig_t*) {
    *child = handle(1);
    return ncclSystemError;
  };
  Communicator communicator(library, handle(), 0);
  CHECK(code_of([&] { communicator.split(0, 0, Deadline::after(10000)); }) ==
        sparsecollSystemError);
  CHECK(script().aborted == 0);
  communicator.interrupt();
  CHECK(aborts(2) == 2);
  CHECK(script().last_aborted == handle(1));
}

TEST_CASE("check() translates NCCL's errors") {
  const ScriptScope scope;
  Communicator communicator(scripted_library(), handle(), 0);
  const std::pair<int, sparsecollResult_t> codes[] = {
      {ncclUnhandledCudaError, sparsecollUnhandledCudaError},
      {ncclSystemError, sparsecollSystemError},
      {ncclInternalError, sparsecollSystemError},
      {ncclInvalidArgument, sparsecollSystemError},
      {ncclInvalidUsage, sparsecollSystemError},
      {ncclRemoteError, sparsecollRemoteError},
      {8, sparsecollTimeout},  // ncclTimeout of newer versions
      {9, sparsecollSystemError},
  };
  for (const auto& [state, code] : codes) {
    script().state = static_cast<ncclResult_t>(state);
    std::string why;
    CHECK(code_of([&] { communicator.check(); }, &why) == code);
    CHECK(why == "NCCL communicator: scripted; last error of NCCL: an earlier message");
  }
  script().state = ncclInProgress;
  communicator.check();
  CHECK_FALSE(communicator.wait_ready(Deadline::after(5)));
  script().state = ncclSuccess;
  CHECK(communicator.wait_ready(Deadline::after(5)));
}

}  // namespace
}  // namespace sparsecoll::nccl
