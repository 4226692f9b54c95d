// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Every single byte of every message of exchanges, groups, splits and push-sum inverted on its way:
// an error or the right result, never a wrong one. (tests/api/damage_test.cpp has the other
// verbs.)

#include <chrono>

#include "api/communicators.hpp"
#include "fault/random_call.hpp"
#include "support/catch.hpp"
#include "transport/recording_transport.hpp"

namespace sparsecoll::fault {
namespace {

using Planner = std::unique_ptr<RandomCall> (*)(const Plan&);
using Sizes = std::vector<std::vector<size_t>>;

/// The same call again and again, each time from the start.
struct Trial {
  Trial(Planner planner, int P, uint64_t seed)
      : world{P, SPARSECOLL_CONFIG_INITIALIZER, true, true, {}, {}} {
    Dice dice(seed);
    for (const bool feedback : {true, false})
      world.tensors.push_back(std::make_unique<TypedTensor<float>>(
          size_t{24}, feedback,
          test::make_data_of_all<float>(test::Kind::kWideIntegers, 24, P, seed)));
    for (const auto& tensor : world.tensors) tensor->next_call();
    call = planner({dice, world, *world.tensors[0], false, false});
    // A member of a part that one failed to join meets its deadline.
    world.config.timeoutMs = call->makes_parts() ? 20 : 20000;
  }

  World world;
  std::unique_ptr<RandomCall> call;
};

/// What one rank may say. *noticed: it saw that something was wrong.
std::string live(Trial& trial, unit::Communicators& ranks, int rank, char* noticed) {
  const sparsecollComm_t comm = ranks.handle(rank);
  const auto start = Clock::now();
  const sparsecollResult_t result = trial.call->make(rank, comm, Flaw::kNone);
  std::string verdict;
  if (result == sparsecollSuccess)
    verdict = trial.call->check_output(rank, comm, true);
  else if (result != sparsecollRemoteError &&
           !(result == sparsecollTimeout && trial.call->makes_parts()))
    verdict = test::explain(result, comm);
  const std::string after = trial.world.tensors[0]->differs(rank, 1);
  const std::string before = trial.world.tensors[0]->differs(rank, 0);
  if (result == sparsecollSuccess && verdict.empty()) verdict = after;
  if (!after.empty() && !before.empty()) verdict += "; the residual is neither old nor new";
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm, &asynchronous);
  *noticed = asynchronous != sparsecollSuccess;
  if (Clock::now() - start > std::chrono::seconds(10)) verdict += "; late";
  return verdict;
}

std::string run(Trial& trial, unit::Communicators& ranks, bool damaged) {
  for (const auto& tensor : trial.world.tensors) tensor->create(ranks.handles());
  std::vector<char> noticed(static_cast<size_t>(ranks.size()));
  const std::string verdict = ranks.run(trial.call->describe(), [&](int rank) {
    return live(trial, ranks, rank, &noticed[static_cast<size_t>(rank)]);
  });
  const bool any = std::find(noticed.begin(), noticed.end(), 1) != noticed.end();
  if (any != damaged) return verdict + (damaged ? "nobody noticed" : "a failure without damage");
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
  trial.world.config.timeoutMs = 20000;
  unit::Communicators ranks(std::move(transports), trial.world.config);
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
        unit::Communicators ranks(P, trial.world.config, [=](int sender, int, size_t number) {
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

TEST_CASE("every damaged byte of a reduce-scatter is noticed") {
  damage_at_two_and_three(plan_reduce_scatter);
}

TEST_CASE("every damaged byte of an all-to-all is noticed") {
  damage_at_two_and_three(plan_alltoall);
}

TEST_CASE("every damaged byte of a group is noticed") { damage_at_two_and_three(plan_group); }

TEST_CASE("every damaged byte of a split is noticed") { damage_at_two_and_three(plan_split); }

TEST_CASE("every damaged byte of push-sum is noticed") { damage_at_two_and_three(plan_gossip); }

}  // namespace
}  // namespace sparsecoll::fault
