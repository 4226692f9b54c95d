// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests communicators with blocking = 0: calls that are queued, waited for, failing and aborted.

#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

sparsecollConfig_t queued_config() {
  sparsecollConfig_t config = default_config();
  config.blocking = 0;
  return config;
}

sparsecollResult_t add(const std::vector<float>& send, std::vector<float>& recv,
                       sparsecollComm_t comm, sparsecollResidual_t residual = nullptr) {
  return sparseAllreduce(send.data(), recv.data(), send.size(), send.size(), sparsecollFloat32,
                         sparsecollSum, residual, comm, nullptr);
}

std::uint64_t sequence_of(sparsecollComm_t comm) {
  std::uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

TEST_CASE("many calls in flight give what calls that block give") {
  for (const int P : {1, 2, 3, 5, 8}) {
    constexpr std::size_t kCalls = 40, n = 700, k = 20;
    std::vector<std::vector<float>> results[2];
    for (const int blocking : {1, 0}) {
      sparsecollConfig_t config = queued_config();
      config.blocking = blocking;
      const Ranks ranks(P, config);
      auto& all = results[blocking];
      all.resize(static_cast<std::size_t>(P) * (kCalls + 1));
      CHECK(ranks.run("calls", [&](int rank) {
        const sparsecollComm_t comm = ranks.comm(rank);
        Residual<float> residual(comm, n);
        std::vector<std::vector<float>> sends(kCalls), recvs(kCalls);
        for (std::size_t c = 0; c < kCalls; ++c) {
          sends[c] = make_data<float>(Kind::kHeavyTail, n, rank, P, c);
          recvs[c].resize(n);
          const auto verb = c % 3 ? sparseAllreduce : gtopkAllreduce;
          const sparsecollResult_t queued =
              verb(sends[c].data(), recvs[c].data(), n, k, sparsecollFloat32, sparsecollAvg,
                   residual.handle(), comm, nullptr);
          if (queued != sparsecollSuccess) return explain(queued, comm);
          if (sequence_of(comm) != c + 1) return std::string("wrong sequence");
        }
        const sparsecollResult_t half = sparsecollCommWait(comm, kCalls / 2);
        if (half != sparsecollSuccess) return explain(half, comm);
        for (std::size_t c = 0; c < kCalls / 2; ++c)
          all[static_cast<std::size_t>(rank) * (kCalls + 1) + c] = recvs[c];
        const sparsecollResult_t end = sparsecollCommSynchronize(comm);
        if (end != sparsecollSuccess) return explain(end, comm);
        for (std::size_t c = kCalls / 2; c < kCalls; ++c)
          all[static_cast<std::size_t>(rank) * (kCalls + 1) + c] = recvs[c];
        all[static_cast<std::size_t>(rank) * (kCalls + 1) + kCalls] = residual.read();
        return std::string();
      }) == "");
    }
    for (std::size_t v = 0; v < results[0].size(); ++v)
      CHECK(difference("vector " + std::to_string(v), results[0][v], results[1][v]) == "");
  }
}

TEST_CASE("a collective call that is never queued has its number too") {
  const Ranks ranks(2, queued_config());
  CHECK(ranks.run("split", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const std::vector<float> send(5, 1.0f);
    std::vector<float> recv(5);
    sparsecollComm_t part = nullptr;
    add(send, recv, comm);
    if (sparsecollCommSplit(comm, 0, 0, &part, nullptr) != sparsecollSuccess) return "the split";
    if (sequence_of(comm) != 2) return "the split was not counted";
    if (sparsecollCommWait(comm, 2) != sparsecollSuccess) return "waiting for the split";
    add(send, recv, comm);
    if (sequence_of(comm) != 3) return "wrong sequence";
    const sparsecollResult_t end = sparsecollCommWait(comm, 3);
    sparsecollCommDestroy(part);
    return end == sparsecollSuccess && recv[4] == 2.0f ? "" : explain(end, comm);
  }) == "");
}

TEST_CASE("Success means queued: the call returns although its peers are not there") {
  const Ranks ranks(2, queued_config());
  std::atomic<bool> returned{false};
  CHECK(ranks.run("late", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::vector<float> x(10, 1.0f), y(10);
    if (rank == 1)
      while (!returned) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string verdict = expect("queue", add(x, y, comm), sparsecollSuccess, comm);
    sparsecollResult_t state = sparsecollSuccess;
    sparsecollCommGetAsyncError(comm, &state);
    if (rank == 0 && state != sparsecollInProgress) verdict += "not in progress; ";
    returned = true;
    verdict += expect("synchronize", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
    sparsecollCommGetAsyncError(comm, &state);
    if (state != sparsecollSuccess) verdict += "still in progress; ";
    return y[0] == 2.0f ? verdict : verdict + "wrong sum";
  }) == "");
}

TEST_CASE("Synchronize tells the first error and which call it was; the communicator goes on") {
  for (const int P : {1, 2, 3}) {
    const Ranks ranks(P, queued_config());
    CHECK(ranks.run("errors", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      const bool bad = rank == 0;
      std::vector<float> x(10, 1.0f), y(10), z(10), untouched(10, 5.0f);
      std::string verdict = expect("first", add(x, y, comm), sparsecollSuccess, comm);
      verdict += expect("bad",
                        sparseAllreduce(bad ? nullptr : x.data(), untouched.data(), 10, 10,
                                        sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr),
                        sparsecollSuccess, comm);
      verdict += expect("third", add(x, z, comm), sparsecollSuccess, comm);
      verdict += expect("wait", sparsecollCommWait(comm, 1), sparsecollSuccess, comm);
      const sparsecollResult_t want = bad ? sparsecollInvalidArgument : sparsecollInvalidUsage;
      verdict += expect("synchronize", sparsecollCommSynchronize(comm), want, comm);
      const std::string message = sparsecollGetLastError(comm);
      if (message.find("call 2") == std::string::npos ||
          message.find("sendbuff") == std::string::npos)
        verdict += "message: " + message + "; ";
      verdict += expect("again", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      if (y[0] != static_cast<float>(P) || z[0] != y[0] || untouched[0] != 5.0f)
        verdict += "wrong results; ";
      verdict += expect("wait for what was not called", sparsecollCommWait(comm, 4),
                        sparsecollInvalidArgument, comm);
      return verdict;
    }) == "");
  }
}

TEST_CASE("local functions keep their place among queued calls") {
  const Ranks ranks(3, queued_config());
  CHECK(ranks.run("order", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const std::size_t n = 300;
    const auto x = make_data<float>(Kind::kIntegers, n, rank, 3, 5);
    Residual<float> residual(comm, n), other(comm, n);
    SparseBuffer<float> top(n, sparsecollIndex32, 30), sum(n, sparsecollIndex32, 30);
    std::vector<float> dense(n), direct(n);
    sparsecollTopk(x.data(), n, 10, sparsecollFloat32, residual.handle(), top.get(), comm, nullptr);
    sparseAllreducev(top.get(), sum.get(), 10, sparsecollSum, residual.handle(), comm, nullptr);
    sparsecollScatter(sum.get(), dense.data(), comm, nullptr);
    sparseAllreduce(x.data(), direct.data(), n, 10, sparsecollFloat32, sparsecollSum,
                    other.handle(), comm, nullptr);
    const auto left = residual.read();  // waits
    std::string verdict = difference("residual", left, other.read());
    verdict += expect("synchronize", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
    return verdict + difference("result", dense, direct);
  }) == "");
}

std::string abort_queued_calls() {
  const Ranks ranks(2, queued_config());
  std::vector<float> x(10, 1.0f), y(10), z(10);
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(add(x, y, comm) == sparsecollSuccess);  // rank 1 never calls
  CHECK(add(x, z, comm) == sparsecollSuccess);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(sparsecollCommAbort(comm) == sparsecollSuccess);
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK(sparsecollCommSynchronize(comm) == sparsecollInvalidUsage);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  aborter.join();
  CHECK(std::string(sparsecollGetLastError(comm)).find("abort") != std::string::npos);
  CHECK(add(x, y, comm) == sparsecollInvalidUsage);
  return waited.count() < patience() ? "" : "the abort ended it late";
}

TEST_CASE("abort from another thread ends what is queued at once") {
  CHECK(unless_late_by_chance(abort_queued_calls) == "");
}

std::string destroy_with_queued_calls(int deadline_ms) {
  sparsecollConfig_t config = queued_config();
  config.timeoutMs = deadline_ms;
  Ranks ranks(2, config);
  std::vector<float> x(10, 1.0f), y[2] = {std::vector<float>(10), std::vector<float>(10)};
  const std::string wrong = ranks.run("destroy", [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (int call = 0; call < 5; ++call)
      if (add(x, y[r], ranks.comm(rank))) return std::string("not queued by the deadline");
    return std::string();
  });
  if (!wrong.empty()) return wrong;
  if (ranks.destroy(0) != sparsecollSuccess) return "rank 0's destroy failed by the deadline";
  if (y[0][0] != 2.0f) return "rank 0's calls were not made by the deadline";
  if (add(x, y[1], ranks.comm(1)) != sparsecollSuccess)  // nobody joins in this one
    return "the call too many was not queued by the deadline";
  const auto start = std::chrono::steady_clock::now();
  ranks.destroy(1);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  if (y[1][0] != 2.0f) return "rank 1's calls were not made by the deadline";
  return waited.count() < deadline_ms / 1000.0 + patience() ? "" : "destroy ended late";
}

/// Destroys a communicator while a queued call waits for a rank that never calls, until its
/// deadline or, if the test aborts the communicator, until that.
std::string destroy_during_call(int deadline_ms, bool aborts) {
  sparsecollConfig_t config = queued_config();
  config.timeoutMs = deadline_ms;
  Ranks ranks(2, config);
  const std::vector<float> x(10, 1.0f);
  std::vector<float> y(10);
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(add(x, y, comm) == sparsecollSuccess);
  std::thread aborter;
  if (aborts)
    aborter = std::thread([comm] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      CHECK(sparsecollCommAbort(comm) == sparsecollSuccess);
    });
  const auto start = std::chrono::steady_clock::now();
  const sparsecollResult_t result = ranks.destroy(0);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  if (aborts) aborter.join();
  // The destroy of a communicator that has failed before succeeds.
  if (result == sparsecollSuccess) return "destroy began late: after the end of the call";
  CHECK(result == (aborts ? sparsecollInvalidUsage : sparsecollTimeout));
  return waited.count() < (aborts ? 0 : deadline_ms / 1000.0) + patience() ? "" : "it ended late";
}

TEST_CASE("destroy returns the error of a queued call that fails meanwhile") {
  CHECK(with_longer_deadlines(300, [](int ms) { return destroy_during_call(ms, false); }) == "");
  CHECK(unless_late_by_chance([] { return destroy_during_call(60000, true); }) == "");
}

TEST_CASE("destroy makes the queued calls first, and a missing peer cannot hold it") {
  CHECK(with_longer_deadlines(300, destroy_with_queued_calls) == "");
}

}  // namespace
}  // namespace sparsecoll::test
