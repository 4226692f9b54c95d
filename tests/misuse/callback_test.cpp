// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A function of the caller that push-sum asks for its graph: it throws, or calls the library.

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "misuse/push_sum.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

/// A ring whose function first does what one rank's test asks for.
struct Ring {
  std::function<void()> first = [] {};

  static int neighbours(void* user, int rank, int ranks, std::uint64_t, int* peers, double* weights,
                        int) {
    static_cast<Ring*>(user)->first();
    peers[0] = (rank + 1) % ranks;
    weights[0] = 0.5;
    return 1;
  }
  sparsecollPushSumConfig_t config() {
    sparsecollPushSumConfig_t config = kUsual;
    config.graph = sparsecollGraphCustom;
    config.outNeighbours = neighbours;
    config.user = this;
    return config;
  }
};

sparsecollConfig_t config_with(int blocking) {
  sparsecollConfig_t config = default_config();
  config.blocking = blocking;
  return config;
}

struct Thrown {
  const char* words;
  void (*now)();
};

const Thrown kThrown[] = {
    {"expected neighbours, got an exception: mine", [] { throw std::runtime_error("mine"); }},
    {"expected neighbours, got an exception: std::bad_alloc", [] { throw std::bad_alloc(); }},
    {"expected neighbours, got an exception that is no std::exception", [] { throw 7; }}};

TEST_CASE("a step whose function throws is refused, and the corrected one works") {
  for (const Thrown& thrown : kThrown) {
    const Ranks ranks(2, config_with(1));
    CHECK(ranks.run(thrown.words, [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      Ring ring;
      const PushSum<double> state(comm, kLength, ring.config());
      if (rank == 0) {
        ring.first = thrown.now;
        const std::uint64_t before = sequence_of(comm);
        std::vector<double> x(kLength, 1.0);
        for (int again = 0; again < 3; ++again) {
          const std::string wrong =
              refused("step", state.step(x), sparsecollInvalidArgument, thrown.words, comm);
          if (!wrong.empty()) return wrong;
        }
        if (x != std::vector<double>(kLength, 1.0)) return "x was changed";
        if (sequence_of(comm) != before) return "the step counts as a call";
        ring.first = [] {};
      }
      return works(state, comm) + works(state, comm);
    }) == "");
  }
}

TEST_CASE("a queued step whose function throws is fatal, with the reason") {
  for (const Thrown& thrown : kThrown) {
    const Ranks ranks(2, config_with(0));
    CHECK(ranks.run(thrown.words, [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      Ring ring;
      const PushSum<double> state(comm, kLength, ring.config());
      std::vector<double> x(kLength, 1.0);
      if (rank == 0) ring.first = thrown.now;
      const auto step = [&] {
        return pushSumStep(x.data(), nullptr, kLength, sparsecollFloat64, state.handle(), comm,
                           nullptr);
      };
      if (step() != sparsecollSuccess) return "the step was not queued";
      if (rank == 1) {
        const sparsecollResult_t result = sparsecollCommSynchronize(comm);
        return result == sparsecollRemoteError ? "" : "the peer: " + explain(result, comm);
      }
      std::string wrong = refused("Synchronize", sparsecollCommSynchronize(comm),
                                  sparsecollInvalidUsage, thrown.words, comm);
      wrong += refused("a later step", step(), sparsecollInvalidUsage, thrown.words, comm);
      return x == std::vector<double>(kLength, 1.0) ? wrong : wrong + "x was changed";
    }) == "");
  }
}

/// Calls every kind of function that enters the communicator. Returns "" if all are refused.
std::string enter_again(sparsecollComm_t comm, sparsecollResidual_t residual,
                        sparsecollPushSum_t state) {
  double x[4] = {}, weight = 0;
  sparsecollComm_t child = nullptr;
  sparsecollResidual_t other = nullptr;
  const std::pair<const char*, sparsecollResult_t> calls[] = {
      {"CommDestroy", sparsecollCommDestroy(comm)},
      {"CommSynchronize", sparsecollCommSynchronize(comm)},
      {"CommWait", sparsecollCommWait(comm, 1)},
      {"CommNotify", sparsecollCommNotify(
                         comm, 0, [](void*, std::uint64_t, sparsecollResult_t) {}, nullptr)},
      {"CommStreamWait", sparsecollCommStreamWait(comm, nullptr)},
      {"CommSplit", sparsecollCommSplit(comm, 0, 0, &child, nullptr)},
      {"GroupStart", sparsecollGroupStart(comm)},
      {"GroupEnd", sparsecollGroupEnd(comm)},
      {"sparseAllreduce",
       sparseAllreduce(x, x, 4, 1, sparsecollFloat64, sparsecollSum, nullptr, comm, nullptr)},
      {"pushSumStep", pushSumStep(x, nullptr, 4, sparsecollFloat64, state, comm, nullptr)},
      {"PushSumDrain", sparsecollPushSumDrain(state, x, nullptr, nullptr)},
      {"PushSumWeight", sparsecollPushSumWeight(state, &weight)},
      {"PushSumDestroy", sparsecollPushSumDestroy(state)},
      {"ResidualCreate", sparsecollResidualCreate(&other, 4, sparsecollFloat64, comm)},
      {"ResidualRead", sparsecollResidualRead(residual, x)},
      {"ResidualDestroy", sparsecollResidualDestroy(residual)}};
  std::string wrong;
  for (const auto& [name, result] : calls)
    if (result != sparsecollInvalidUsage)
      wrong += std::string(name) + ": " + sparsecollGetErrorString(result) + "; ";
  int rank = -1;
  if (sparsecollCommRank(comm, &rank) != sparsecollSuccess) wrong += "CommRank failed; ";
  return wrong;
}

TEST_CASE("functions on the communicator are refused in a callback, and the call goes on") {
  for (const int blocking : {1, 0}) {
    const Ranks ranks(2, config_with(blocking));
    CHECK(ranks.run("callback", [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      Ring ring;
      const PushSum<double> state(comm, kLength, ring.config());
      const Residual<double> residual(comm, 4);
      std::string wrong;
      int asked = 0;
      ring.first = [&] {
        if (asked++ == 0) wrong = enter_again(comm, residual.handle(), state.handle());
      };
      wrong += works(state, comm);
      if (asked == 0) return "the function was not asked";
      double weight = 0;
      if (sparsecollPushSumWeight(state.handle(), &weight) != sparsecollSuccess || weight != 1.0)
        wrong += "the state is gone; ";
      return wrong + works(state, comm);
    }) == "");
  }
}

TEST_CASE("an abort in a callback poisons the communicator") {
  for (const int blocking : {1, 0}) {
    const Ranks ranks(1, config_with(blocking));
    const sparsecollComm_t comm = ranks.comm(0);
    sparsecollPushSumConfig_t config = kUsual;
    config.graph = sparsecollGraphCustom;
    config.user = comm;
    config.outNeighbours = [](void* user, int, int, std::uint64_t, int*, double*, int) {
      return sparsecollCommAbort(static_cast<sparsecollComm_t>(user)) == sparsecollSuccess ? 0 : -1;
    };
    const PushSum<double> state(comm, kLength, config);
    std::vector<double> x(kLength, 1.0);
    const sparsecollResult_t result = state.step(x);
    CHECK((blocking ? result : sparsecollCommSynchronize(comm)) == sparsecollInvalidUsage);
    CHECK(std::string(sparsecollGetLastError(comm)).find("aborted") != std::string::npos);
  }
}

}  // namespace
}  // namespace sparsecoll::test
