// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that an abort at any moment gives one error: the call that it ends, the asynchronous error
// and all later calls agree.

#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {

TEST_CASE("an abort among good calls is the first and only error of its rank") {
  const int rounds = small_run() ? 20 : 100;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    const Ranks ranks(2, config);
    std::atomic<int> under_way{0};
    std::thread other([&] {
      while (under_way < 2) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(20 * round));
      sparsecollCommAbort(ranks.comm(0));
    });
    const std::string verdict = ranks.run("abort", [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      float sent[64] = {1}, got[64];
      const auto call = [&] {
        return sparseAllreduce(sent, got, 64, 4, sparsecollFloat32, sparsecollSum, nullptr, comm,
                               nullptr);
      };
      ++under_way;
      sparsecollResult_t first = sparsecollSuccess;
      while (first == sparsecollSuccess) first = call();
      const std::string message = sparsecollGetLastError(comm);
      const sparsecollResult_t later = call();
      sparsecollResult_t asynchronous = sparsecollSuccess;
      sparsecollCommGetAsyncError(comm, &asynchronous);
      if (first != (rank == 0 ? sparsecollInvalidUsage : sparsecollRemoteError))
        return "first " + std::to_string(first) + ": " + message;
      return later == first && asynchronous == first ? "" : "later errors differ: " + message;
    });
    other.join();
    CHECK(verdict == "");
  }
}

}  // namespace sparsecoll::test
