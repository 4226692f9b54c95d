// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Runs steps of push-sum while a rank fails as fault_rank.hpp says. The other ranks must get
// Timeout or RemoteError within the deadline and a second, and the same error at once from every
// later call. x and weight must be as before the step that failed, and the destroy must end.

#include <cstdio>

#include "mpi/fault_rank.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/push_sum.hpp"

namespace {

using namespace sparsecoll::test;

/// Large enough for a kill to hit the middle of a step.
constexpr std::size_t kLength = std::size_t{1} << 17;

sparsecollPushSumConfig_t config_of(const std::string& verb) {
  sparsecollPushSumConfig_t config = kExponential.config();
  if (verb == "ring") config = kGraphs[6].config();
  if (verb == "overlap") config.maxDelay = 2;
  if (verb == "compressed") {
    config.k = kLength / 100;
    config.mixing = 0.5;
  }
  return config;
}

std::string check_failed_step(const PushSum<float>& state, const std::vector<float>& got,
                              const std::vector<float>& before, double weight) {
  const std::string text = difference("x", got, before);
  if (!text.empty()) return text;
  const double now = state.weight();
  return now == weight ? "" : "the weight is " + show(now) + " instead of " + show(weight);
}

std::string run(sparsecollComm_t comm, const FaultCase& fault, const Waker& waker) {
  const Victim victim(fault);
  const PushSum<float> state(comm, kLength, config_of(fault.verb));
  std::vector<float> x = make_data<float>(Kind::kHeavyTail, kLength, rank_in(MPI_COMM_WORLD), 8, 1);
  for (int step = 0; step < kCallsAtMost; ++step) {
    const std::vector<float> before = x;
    const double weight = state.weight();
    victim.before_call(step, waker);
    const Stopwatch time;
    const sparsecollResult_t result = state.step(x);
    const double took = time.seconds();
    std::string text = time.too_long("a step", kEndsAfter);
    if (!text.empty()) return text;
    if (result == sparsecollSuccess) continue;
    if (result != sparsecollTimeout && result != sparsecollRemoteError)
      return explain(result, comm);
    if (step < kWarmUp) return "too early: " + explain(result, comm);
    std::printf("step %d: %s after %.3f s; ", step, sparsecollGetErrorString(result), took);
    text = check_failed_step(state, x, before, weight);
    if (!text.empty()) return text;
    return check_poisoned(
        comm, [&] { return state.step(x); }, result);
  }
  return "no step failed";
}

}  // namespace

int main(int argc, char** argv) {
  return run_rank(argc, argv, [](const FaultCase& fault, const Waker& waker) {
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = kDeadlineMs;
    sparsecollComm_t comm = nullptr;
    const sparsecollResult_t made = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
    return made == sparsecollSuccess ? run(comm, fault, waker) : explain(made, nullptr);
  });
}
