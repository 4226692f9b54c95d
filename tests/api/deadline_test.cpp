// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that a call has one deadline, however often it waits, and whether it waits or computes.

#include <chrono>
#include <thread>

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"
#include "transport/forwarding_transport.hpp"

namespace sparsecoll::unit {
namespace {

constexpr int kDeadlineMs = 2000;
// These are parts of the deadline. A call whose second wait had a deadline of its own would take
// 1.8 of it.
constexpr double kDelay = 0.8, kLimit = 1.5;

std::chrono::duration<double> seconds_of(double deadlines, int deadline_ms) {
  return std::chrono::duration<double>(deadlines * deadline_ms / 1000);
}

/// Ends collectively, as over MPI. With `keeps_gossip`, gossip never leaves this rank.
class CollectiveEnd final : public ForwardingTransport {
 public:
  CollectiveEnd(std::unique_ptr<Transport> below, bool keeps_gossip)
      : ForwardingTransport(std::move(below)), keeps_gossip_(keeps_gossip) {}
  bool close_is_collective() const override { return true; }
  size_t unsent_handed_over() override { return keeps_gossip_ ? 100 : 0; }

 private:
  bool keeps_gossip_;
};

std::vector<std::unique_ptr<Transport>> make_transports(bool keeps_gossip) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (auto& each : make_local_transports(2))
    transports.push_back(std::make_unique<CollectiveEnd>(std::move(each), keeps_gossip));
  return transports;
}

sparsecollConfig_t queueing(int blocking, int deadline_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = deadline_ms;
  config.blocking = blocking;
  return config;
}

/// Destroys the communicator of a rank. Returns "" if that ends with a Timeout and in time.
std::string destroy_in_time(Communicators& ranks, int rank, int deadline_ms) {
  const auto start = Clock::now();
  const sparsecollResult_t result = ranks.destroy(rank);
  const std::chrono::duration<double> took = Clock::now() - start;
  if (took > seconds_of(kLimit, deadline_ms)) return text("late: took ", took.count(), " s");
  return result == sparsecollTimeout ? "" : text("destroy returned ", result);
}

/// Rank 0 queues that many calls and destroys its communicator. Rank 1 makes the first call late,
/// and no other.
std::string destroy_after_queued_calls(int calls, int deadline_ms) {
  Communicators ranks(make_transports(false), queueing(0, deadline_ms));
  for (int rank = 0; rank < 2; ++rank) ranks[rank].start();
  return ranks.run("destroy", [&](int rank) -> std::string {
    const std::vector<float> x(4, 1.0f);
    std::vector<float> y(4);
    if (rank == 1) std::this_thread::sleep_for(seconds_of(kDelay, deadline_ms));
    for (int call = 0; call < (rank == 0 ? calls : 1); ++call)
      sparseAllreduce(x.data(), y.data(), 4, 4, sparsecollFloat32, sparsecollSum, nullptr,
                      ranks.handle(rank), nullptr);
    if (rank == 0) return destroy_in_time(ranks, rank, deadline_ms);
    const sparsecollResult_t result = sparsecollCommSynchronize(ranks.handle(1));
    const std::string wrong =
        test::expect("synchronize", result, sparsecollSuccess, ranks.handle(1));
    // Rank 0 fails by its deadline only.
    return result == sparsecollRemoteError ? "late: " + wrong : wrong;
  });
}

TEST_CASE("destroy: queued calls and the end with the other ranks have one deadline") {
  // With one call, the deadline passes in the end with the other rank; with two, in the second.
  for (const int calls : {1, 2})
    CHECK(test::with_longer_deadlines(kDeadlineMs, [calls](int ms) {
            return destroy_after_queued_calls(calls, ms);
          }) == "");
}

std::string destroy_after_gossip(int deadline_ms) {
  Communicators ranks(make_transports(true), queueing(1, deadline_ms));
  return ranks.run("destroy", [&](int rank) -> std::string {
    const sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    sparsecollPushSum_t state = nullptr;
    const sparsecollResult_t made =
        sparsecollPushSumCreate(&state, 4, sparsecollFloat32, &config, ranks.handle(rank));
    if (made != sparsecollSuccess) return test::explain(made, ranks.handle(rank));
    if (rank == 0) return destroy_in_time(ranks, rank, deadline_ms);
    std::this_thread::sleep_for(seconds_of(kDelay, deadline_ms));
    ranks.destroy(rank);
    return "";
  });
}

TEST_CASE("destroy: the end with the other ranks and that of gossip have one deadline") {
  CHECK(test::with_longer_deadlines(kDeadlineMs, destroy_after_gossip) == "");
}

using Function = std::function<sparsecollResult_t(sparsecollComm_t)>;

/// Queues 20 calls on rank 0, of which the other rank makes none, and then calls `function`.
std::string miss_queued_calls(const Function& function, int deadline_ms) {
  Communicators ranks(make_transports(false), queueing(0, deadline_ms));
  for (int rank = 0; rank < 2; ++rank) ranks[rank].start();
  const sparsecollComm_t comm = ranks.handle(0);
  const std::vector<float> x(4, 1.0f);
  std::vector<float> y(4);
  const auto start = Clock::now();
  for (int call = 0; call < 20; ++call)
    sparseAllreduce(x.data(), y.data(), 4, 4, sparsecollFloat32, sparsecollSum, nullptr, comm,
                    nullptr);
  const sparsecollResult_t got = function(comm);
  const std::chrono::duration<double> took = Clock::now() - start;
  std::string wrong = test::expect("the function", got, sparsecollTimeout, comm);
  wrong += test::expect("destroy", ranks.destroy(0), sparsecollSuccess, nullptr);
  // One deadline; a second one for each call would be twenty.
  return test::wrong_or_late(wrong, took.count(), 5 * deadline_ms / 1000.0);
}

TEST_CASE("a peer that is missing in a queued call holds no later function for longer") {
  const auto functions = std::to_array<Function>({
      [](sparsecollComm_t comm) { return sparsecollCommSynchronize(comm); },
      [](sparsecollComm_t comm) { return sparsecollCommWait(comm, 2); },
      [](sparsecollComm_t comm) {
        sparsecollComm_t part = nullptr;
        return sparsecollCommSplit(comm, 0, 0, &part, nullptr);
      },
      [](sparsecollComm_t comm) {
        const sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
        sparsecollPushSum_t state = nullptr;
        return sparsecollPushSumCreate(&state, 4, sparsecollFloat32, &config, comm);
      },
  });
  for (size_t f = 0; f < functions.size(); ++f) {
    INFO("function " << f);
    CHECK(test::with_longer_deadlines(
              600, [&](int ms) { return miss_queued_calls(functions[f], ms); }) == "");
  }
}

sparsecollConfig_t config_with(int timeout_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = timeout_ms;
  return config;
}

/// Runs a group of that many calls on a rank. Returns "" if it ends as a call does whose deadline
/// passes while it computes: with a fatal error, and the residual as before.
std::string refuse_long_group(sparsecollComm_t comm, size_t calls) {
  constexpr size_t n = 1000;
  const std::vector<float> x(n, 1.0f);
  std::vector<std::vector<float>> y(calls, std::vector<float>(n));
  test::Residual<float> residual(comm, n);
  residual.write(std::vector<float>(n, 3.0f));
  sparsecollGroupStart(comm);
  for (size_t call = 0; call < calls; ++call)
    sparseAllreduce(x.data(), y[call].data(), n, 10, sparsecollFloat32, sparsecollSum,
                    call == 0 ? residual.handle() : nullptr, comm, nullptr);
  const sparsecollResult_t result = sparsecollGroupEnd(comm);
  if (result != sparsecollTimeout && result != sparsecollRemoteError)
    return text("the group returned ", test::explain(result, comm));
  if (residual.read() != std::vector<float>(n, 3.0f)) return "the residual changed";
  sparsecollResult_t state = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm, &state);
  return state == result ? "" : text("the communicator has ", state);
}

// No call of such a group is long, and none of them waits for a peer that is late.
TEST_CASE("a group whose work takes longer than the deadline fails on all ranks") {
  for (const int P : {1, 2, 3}) {
    Communicators ranks(P, config_with(1));
    CHECK(ranks.run("group",
                    [&](int rank) { return refuse_long_group(ranks.handle(rank), 2000); }) == "");
  }
}

TEST_CASE("a selection that takes longer than the deadline fails") {
  const size_t n = size_t{1} << 24;
  const std::vector<float> x(n, 1.0f);
  std::vector<float> y(n);
  for (const int P : {1, 2}) {
    Communicators ranks(P, config_with(1));
    CHECK(ranks.run("call", [&](int rank) -> std::string {
      std::vector<float> own(P == 1 ? 0 : n);
      float* const out = P == 1 ? y.data() : own.data();
      const sparsecollResult_t result =
          sparseAllreduce(x.data(), out, n, 1000, sparsecollFloat32, sparsecollSum, nullptr,
                          ranks.handle(rank), nullptr);
      const bool failed = result == sparsecollTimeout || result == sparsecollRemoteError;
      return failed ? "" : test::explain(result, ranks.handle(rank));
    }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
