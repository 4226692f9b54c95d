// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// pthread_cancel while a thread is inside the library: the call ends as if nothing had happened,
// and the thread ends at its next cancellation point after it.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "misuse/push_sum.hpp"
#include "support/catch.hpp"
#include "support/hang_guard.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);  // longer than a call that waits spins

/// One rank's call of an allreduce of ones.
struct Call {
  sparsecollComm_t comm;
  std::atomic<bool> begun{false};
  std::atomic<bool> returned{false};
  sparsecollResult_t result = sparsecollInternalError;
  float x[8] = {1, 1, 1, 1, 1, 1, 1, 1};

  void make() {
    begun = true;
    result = sparseAllreduce(x, x, 8, 8, sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr);
    if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
    returned = true;
  }
  bool is_sum() const { return result == sparsecollSuccess && x[0] == 2 && x[7] == 2; }
};

TEST_CASE("a thread that is cancelled in a call completes it, and then ends") {
  for (const int blocking : {1, 0}) {
    const HangGuard guard("cancel", 1);
    sparsecollConfig_t config = default_config();
    config.blocking = blocking;
    const Ranks ranks(2, config);
    Call cancelled{ranks.comm(0)}, other{ranks.comm(1)};
    pthread_t thread;
    const auto body = [](void* call) -> void* {
      static_cast<Call*>(call)->make();
      for (;;) {
        pthread_testcancel();
        std::this_thread::yield();
      }
    };
    REQUIRE(pthread_create(&thread, nullptr, body, &cancelled) == 0);
    while (!cancelled.begun) std::this_thread::yield();
    std::this_thread::sleep_for(kPause);
    REQUIRE(pthread_cancel(thread) == 0);
    std::this_thread::sleep_for(kPause);
    CHECK_FALSE(cancelled.returned);
    other.make();
    void* end = nullptr;
    REQUIRE(pthread_join(thread, &end) == 0);
    CHECK(end == PTHREAD_CANCELED);
    CHECK(cancelled.returned);
    CHECK(cancelled.is_sum());
    CHECK(other.is_sum());
    CHECK(ranks.run("afterwards", [&](int rank) -> std::string {
      Call again{ranks.comm(rank)};
      again.make();
      return again.is_sum() ? "" : explain(again.result, again.comm);
    }) == "");
  }
}

TEST_CASE("a thread that has disabled cancellation still has after a call") {
  const Ranks ranks(1, default_config());
  int before = PTHREAD_CANCEL_ENABLE, after = PTHREAD_CANCEL_ENABLE;
  for (const int state : {PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_ENABLE}) {
    pthread_setcancelstate(state, &before);
    CHECK(sparsecollCommSynchronize(ranks.comm(0)) == sparsecollSuccess);
    pthread_setcancelstate(state, &after);
    CHECK(after == state);
  }
}

/// Gives away the thread that asks for neighbours.
int cancel_the_asking_thread(void*, int rank, int ranks, std::uint64_t, int* peers, double* weights,
                             int) {
  pthread_cancel(pthread_self());
  peers[0] = (rank + 1) % ranks;
  weights[0] = 0.5;
  return 1;
}

TEST_CASE("the thread of the queue cannot be cancelled") {
  sparsecollConfig_t config = default_config();
  config.blocking = 0;
  const Ranks ranks(2, config);
  CHECK(ranks.run("the queue's thread", [&](int rank) {
    sparsecollPushSumConfig_t graph = kUsual;
    graph.graph = sparsecollGraphCustom;
    graph.outNeighbours = cancel_the_asking_thread;
    const PushSum<double> state(ranks.comm(rank), kLength, graph);
    return works(state, ranks.comm(rank)) + works(state, ranks.comm(rank));
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
