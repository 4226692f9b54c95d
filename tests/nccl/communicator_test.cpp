// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The end of a communicator over calls of NCCL that do not come back, as those of a real one may.

#include "transport/nccl/communicator.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl {
namespace {

using std::chrono::milliseconds;

/// What the calls below have been told, and do.
struct Script {
  std::atomic<int> aborted{0}, destroyed{0}, looked{0};
  std::atomic<bool> held{false};  ///< the end does not come back
  std::atomic<ncclResult_t> state{ncclSuccess};
  std::atomic<ncclComm_t> last_aborted{nullptr};
};

Script& script() {
  static Script all;
  return all;
}

void hold() {
  while (script().held) std::this_thread::sleep_for(milliseconds(1));
}

Library scripted() {
  Library library{};
  library.error_string = [](ncclResult_t) { return "scripted"; };
  library.last_error = [](ncclComm_t) { return "said before"; };
  library.async_error = [](ncclComm_t, ncclResult_t* state) {
    ++script().looked;
    *state = script().state;
    return ncclSuccess;
  };
  library.comm_finalize = [](ncclComm_t) { return ncclInProgress; };
  library.comm_abort = [](ncclComm_t comm) {
    ++script().aborted;
    script().last_aborted = comm;
    hold();
    return ncclSuccess;
  };
  library.comm_destroy = [](ncclComm_t) {
    ++script().destroyed;
    hold();
    return ncclSuccess;
  };
  return library;
}

ncclComm_t handle(int number = 0) {
  static int here[2];
  return reinterpret_cast<ncclComm_t>(&here[number]);
}

/// Starts over, and lets go of what was held at its end.
class Scene {
 public:
  Scene() {
    script().aborted = script().destroyed = script().looked = 0;
    script().state = ncclSuccess;
  }
  ~Scene() { script().held = false; }
};

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

TEST_CASE("an interruption does not wait for an abortion that hangs") {
  const Scene scene;
  script().held = true;  // as where a graph is alive
  Communicator communicator(scripted(), handle(), 0);
  const Clock::time_point start = Clock::now();
  communicator.interrupt();
  CHECK(seconds_since(start) < 1);
  CHECK(script().aborted == 1);
}

TEST_CASE("an interruption comes through although a call of NCCL does not return") {
  const Scene scene;
  Communicator communicator(scripted(), handle(), 0);
  std::atomic<bool> inside{false}, released{false};
  std::thread caller([&] {
    const Communicator::CallScope use(communicator);
    inside = true;
    while (!released) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!inside) std::this_thread::yield();
  communicator.check();  // leaves it to that call
  CHECK(script().looked == 0);
  const Clock::time_point start = Clock::now();
  communicator.interrupt();
  CHECK(seconds_since(start) < 1);
  CHECK(script().aborted == 1);
  released = true;
  caller.join();
  CHECK(code_of([&] { communicator.check(); }) == sparsecollInvalidUsage);
}

TEST_CASE("the end of a communicator that has been closed is the only one") {
  const Scene scene;
  Communicator communicator(scripted(), handle(), 0);
  communicator.close(Deadline::after(10000));
  communicator.interrupt();
  CHECK(script().destroyed == 1);
  CHECK(script().aborted == 0);
}

TEST_CASE("ends that take too long: Timeout") {
  const Scene scene;
  std::string why;
  {
    Communicator communicator(scripted(), handle(), 0);
    script().state = ncclInProgress;
    CHECK(code_of([&] { communicator.close(Deadline::after(20)); }, &why) == sparsecollTimeout);
    CHECK(why.find("a CUDA graph") != std::string::npos);
    CHECK(script().destroyed == 0);
    script().state = ncclSuccess;
  }
  CHECK(script().aborted == 1);  // by its destructor
  Communicator communicator(scripted(), handle(), 0);
  script().held = true;
  CHECK(code_of([&] { communicator.close(Deadline::after(20)); }, &why) == sparsecollTimeout);
  CHECK(why.find("ncclCommDestroy") != std::string::npos);
}

TEST_CASE("what a split that failed has left behind goes with the whole, after it") {
  const Scene scene;
  Library library = scripted();
  library.comm_split = [](ncclComm_t, int, int, ncclComm_t* part, ncclConfig_t*) {
    *part = handle(1);
    return ncclSystemError;
  };
  Communicator communicator(library, handle(), 0);
  CHECK(code_of([&] { communicator.split(0, 0, Deadline::after(10000)); }) ==
        sparsecollSystemError);
  CHECK(script().aborted == 0);
  communicator.interrupt();
  CHECK(script().aborted == 2);
  CHECK(script().last_aborted == handle(1));
}

TEST_CASE("what a state means") {
  const Scene scene;
  Communicator communicator(scripted(), handle(), 0);
  const std::pair<int, sparsecollResult_t> meanings[] = {
      {ncclUnhandledCudaError, sparsecollUnhandledCudaError},
      {ncclSystemError, sparsecollSystemError},
      {ncclInternalError, sparsecollSystemError},
      {ncclInvalidArgument, sparsecollSystemError},
      {ncclInvalidUsage, sparsecollSystemError},
      {ncclRemoteError, sparsecollRemoteError},
      {8, sparsecollTimeout},  // ncclTimeout of newer ones
      {9, sparsecollSystemError},
  };
  for (const auto& [state, code] : meanings) {
    script().state = static_cast<ncclResult_t>(state);
    std::string why;
    CHECK(code_of([&] { communicator.check(); }, &why) == code);
    CHECK(why == "NCCL communicator: scripted; last error of NCCL: said before");
  }
  script().state = ncclInProgress;
  communicator.check();
  CHECK_FALSE(communicator.wait_ready(Deadline::after(5)));
  script().state = ncclSuccess;
  CHECK(communicator.wait_ready(Deadline::after(5)));
}

}  // namespace
}  // namespace sparsecoll::nccl
