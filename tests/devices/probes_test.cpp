// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of situations that block other libraries: memory that is allocated and freed during calls,
// many streams, aborts, and ranks that disagree.

#include <atomic>
#include <chrono>
#include <thread>

#include "devices/backends.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 1000;
using Ones = std::vector<float>;

sparsecollConfig_t config_with(int blocking, int timeout_ms) {
  sparsecollConfig_t config = test::default_config();
  config.blocking = blocking;
  config.timeoutMs = timeout_ms;
  return config;
}

sparsecollResult_t sum(const DeviceArray<float>& x, std::size_t k, sparsecollComm_t comm,
                       cudaStream_t stream) {
  return sparseAllreduce(x.get(), x.get(), x.size(), k, sparsecollFloat32, sparsecollSum, nullptr,
                         comm, stream);
}

TEST_CASE("device memory is allocated and freed while queued calls run") {
  constexpr int P = 3;
  const int kCalls = test::small_run() ? 5 : 20;
  const DeviceRanks ranks(P, config_with(0, 60000));
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends) {
      const DeviceArray<char> short_lived(1 << 16);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const std::string verdict = ranks.run("allocations", [&](int rank) {
    const OwnStream stream;
    DeviceArray<float> x(Ones(kCount, 1.0f));
    for (int call = 0; call < kCalls; ++call) {
      DeviceArray<float> more(kCount);
      const auto got = sum(x, kCount, ranks.comm(rank), stream);
      if (got != sparsecollSuccess) return test::explain(got, ranks.comm(rank));
    }
    const auto got = sparsecollCommStreamWait(ranks.comm(rank), stream);
    if (got != sparsecollSuccess) return test::explain(got, ranks.comm(rank));
    float want = 1;
    for (int call = 0; call < kCalls; ++call) want *= P;
    return test::difference("sum", x.read(stream), Ones(kCount, want));
  });
  ends = true;
  other.join();
  CHECK(verdict == "");
}

TEST_CASE("64 streams, each with a tensor") {
  constexpr std::size_t kStreams = 64;
  for (const int blocking : {1, 0}) {
    const DeviceRanks ranks(2, config_with(blocking, 60000));
    const std::string verdict = ranks.run("streams", [&](int rank) {
      const std::vector<OwnStream> streams(kStreams);
      std::vector<DeviceArray<float>> x;
      std::string wrong;
      for (std::size_t s = 0; s < kStreams; ++s) x.emplace_back(Ones(50 + s, 1.0f));
      for (std::size_t s = 0; s < kStreams; ++s)
        wrong += test::expect("call", sum(x[s], 50 + s, ranks.comm(rank), streams[s]),
                              sparsecollSuccess, ranks.comm(rank));
      for (std::size_t s = 0; s < kStreams && wrong.empty(); ++s) {
        if (blocking == 0)
          wrong = test::expect("wait", sparsecollCommStreamWait(ranks.comm(rank), streams[s]),
                               sparsecollSuccess, ranks.comm(rank));
        wrong += test::difference("sum", x[s].read(streams[s]), Ones(50 + s, 2.0f));
      }
      return wrong;
    });
    CHECK(verdict == "");
  }
}

std::string abort_a_call() {
  const DeviceRanks ranks(2, config_with(1, 60000));
  return ranks.run("abort", [&](int rank) {
    if (rank == 1) return std::string();
    const sparsecollComm_t comm = ranks.comm(0);
    const OwnStream stream;
    test::Residual<float> residual(comm, kCount);
    DeviceArray<float> x(Ones(kCount, 1.0f));
    std::thread aborts([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      sparsecollCommAbort(comm);
    });
    const auto begin = std::chrono::steady_clock::now();
    const auto got = sparseAllreduce(x.get(), x.get(), kCount, 10, sparsecollFloat32, sparsecollSum,
                                     residual.handle(), comm, stream);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    aborts.join();
    std::string wrong = test::expect("the call", got, sparsecollInvalidUsage, comm);
    // The residual is unchanged, because nothing was committed.
    wrong += test::difference("residual", residual.read(), Ones(kCount, 0.0f));
    return test::wrong_or_late(wrong, took.count(), 5 * test::patience());
  });
}

TEST_CASE("an abort ends a call that waits for a peer, and its memory can be freed") {
  CHECK(test::unless_late_by_chance(abort_a_call) == "");
}

TEST_CASE("the error of a deadline names the peer that did not make the call") {
  const DeviceRanks ranks(2, config_with(1, 300));
  DeviceArray<float> x(Ones(kCount, 1.0f));
  CHECK(sum(x, 10, ranks.comm(0), nullptr) == sparsecollTimeout);
  CHECK(std::string(sparsecollGetLastError(ranks.comm(0))).find("rank 1") != std::string::npos);
}

TEST_CASE(
    "if ranks disagree, the call fails, outputs do not change, and the communicator stays usable") {
  for (const int blocking : {1, 0}) {
    const DeviceRanks ranks(3, config_with(blocking, 60000));
    const std::string verdict = ranks.run("disagreement", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      const OwnStream stream;
      DeviceArray<float> x(Ones(kCount, 1.0f));
      const auto completed = [&](sparsecollResult_t got) {
        return blocking == 0 && got == sparsecollSuccess ? sparsecollCommSynchronize(comm) : got;
      };
      std::string wrong =
          test::expect("disagreeing", completed(sum(x, rank == 2 ? 5 : 6, comm, stream)),
                       sparsecollInvalidUsage, comm);
      wrong += test::difference("untouched", x.read(stream), Ones(kCount, 1.0f));
      wrong += test::expect("agreeing", completed(sum(x, kCount, comm, stream)), sparsecollSuccess,
                            comm);
      return wrong + test::difference("sum", x.read(stream), Ones(kCount, 3.0f));
    });
    CHECK(verdict == "");
  }
}

}  // namespace
}  // namespace sparsecoll::devices
