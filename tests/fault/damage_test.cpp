// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Inverts every byte of every message of exchanges, groups, splits and push-sum, one byte in each
// run. Each rank must get an error or the right result. tests/api/damage_test.cpp tests the other
// verbs.

#include <chrono>

#include "api/communicators.hpp"
#include "fault/random_call.hpp"
#include "support/catch.hpp"
#include "transport/recording_transport.hpp"

namespace sparsecoll::fault {
namespace {

using Planner = std::unique_ptr<RandomCall> (*)(const Plan&);
using Sizes = std::vector<std::vector<size_t>>;

/// One random call with its tensors. Equal arguments give equal trials, so that each damaged byte
/// is tried on the same call.
struct Trial {
  Trial(Planner planner, int P, uint64_t seed)
      : context{P, SPARSECOLL_CONFIG_INITIALIZER, true, true, {}, {}} {
    Random random(seed);
    for (const bool feedback : {true, false})
      context.tensors.push_back(std::make_unique<TypedTensor<float>>(
          size_t{24}, feedback,
          test::make_data_of_all<float>(test::Kind::kWideIntegers, 24, P, seed)));
    for (const auto& tensor : context.tensors) tensor->begin_call();
    call = planner({random, context, *context.tensors[0], false, false});
    // After damage a rank may wait in the new communicator for a rank that never joins it, until
    // the deadline.
    context.config.timeoutMs = call->splits_communicator() ? 20 : 20000;
  }

  ScheduleContext context;
  std::unique_ptr<RandomCall> call;
};

/// Makes the call on one rank and returns "" or an error. Sets *detected if the communicator of the
/// rank failed.
std::string run_rank(Trial& trial, unit::Communicators& ranks, int rank, char* detected) {
  const sparsecollComm_t comm = ranks.handle(rank);
  const auto start = Clock::now();
  const sparsecollResult_t result = trial.call->make(rank, comm, BadArgument::kNone);
  std::string verdict;
  if (result == sparsecollSuccess)
    verdict = trial.call->check_output(rank, comm, true);
  else if (result != sparsecollRemoteError &&
           !(result == sparsecollTimeout && trial.call->splits_communicator()))
    verdict = test::explain(result, comm);
  const std::string after = trial.context.tensors[0]->difference(rank, 1);
  const std::string before = trial.context.tensors[0]->difference(rank, 0);
  if (result == sparsecollSuccess && verdict.empty()) verdict = after;
  if (!after.empty() && !before.empty()) verdict += "; the residual is neither old nor new";
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm, &asynchronous);
  *detected = asynchronous != sparsecollSuccess;
  if (Clock::now() - start > std::chrono::seconds(10)) verdict += "; late";
  return verdict;
}

std::string run(Trial& trial, unit::Communicators& ranks, bool damaged) {
  for (const auto& tensor : trial.context.tensors) tensor->create(ranks.handles());
  std::vector<char> detected(static_cast<size_t>(ranks.size()));
  const std::string verdict = ranks.run(trial.call->describe(), [&](int rank) {
    return run_rank(trial, ranks, rank, &detected[static_cast<size_t>(rank)]);
  });
  const bool any = std::find(detected.begin(), detected.end(), 1) != detected.end();
  if (any != damaged)
    return verdict + (damaged ? "no rank detected the damage" : "a failure without damage");
  return verdict;
}

Sizes message_sizes(Planner planner, int P, uint64_t seed) {
  Sizes sizes(static_cast<size_t>(P));
  std::vector<std::unique_ptr<Transport>> transports;
  for (auto& transport : make_local_transports(P)) {
    auto& own = sizes[static_cast<size_t>(transport->rank())];
    transports.push_back(std::make_unique<unit::RecordingTransport>(std::move(transport), own));
  }
  Trial trial(planner, P, seed);
  trial.context.config.timeoutMs = 20000;
  unit::Communicators ranks(std::move(transports), trial.context.config);
  REQUIRE(run(trial, ranks, false) == "");
  return sizes;
}

void damage_everything(Planner planner, int P, uint64_t seed) {
  const Sizes sizes = message_sizes(planner, P, seed);
  const size_t stride = test::small_run() ? 41 : 1;
  for (int victim = 0; victim < P; ++victim) {
    const auto& own = sizes[static_cast<size_t>(victim)];
    for (size_t message = 0; message < own.size(); ++message) {
      for (size_t byte = 0; byte < own[message]; byte += stride) {
        Trial trial(planner, P, seed);
        unit::Communicators ranks(P, trial.context.config, [=](int sender, int, size_t number) {
          MessageFault fault;
          if (sender == victim && number == message) fault.corrupt_byte = byte;
          return fault;
        });
        INFO("byte " << byte << " of message " << message << " of rank " << victim);
        REQUIRE(run(trial, ranks, true) == "");
      }
    }
  }
}

void damage_at_two_and_three(Planner planner) {
  for (const int P : {2, 3})
    for (const uint64_t seed : {1, 2}) damage_everything(planner, P, seed);
}

TEST_CASE("every damaged byte of a reduce-scatter is detected") {
  damage_at_two_and_three(plan_reduce_scatter);
}

TEST_CASE("every damaged byte of an all-to-all is detected") {
  damage_at_two_and_three(plan_alltoall);
}

TEST_CASE("every damaged byte of a group is detected") { damage_at_two_and_three(plan_group); }

TEST_CASE("every damaged byte of a split is detected") { damage_at_two_and_three(plan_split); }

TEST_CASE("every damaged byte of push-sum is detected") { damage_at_two_and_three(plan_gossip); }

}  // namespace
}  // namespace sparsecoll::fault
