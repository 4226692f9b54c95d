// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/random_call.hpp"

#include "support/config.hpp"

namespace sparsecoll::fault {

namespace {

struct Choice {
  int algorithm;
  int selection;
  int wire = sparsecollWireNative;
};

template <class T>
void add_typed(Random& random, ScheduleContext& context, size_t n, bool feedback) {
  auto first = test::make_data_of_all<oracle::Wide<T>>(test::Kind::kWideIntegers, n, context.P,
                                                       random.seed());
  test::keep_what_is_held(context.mode(test::Verb::kSparse), first);
  context.tensors.push_back(std::make_unique<TypedTensor<T>>(n, feedback, first));
}

}  // namespace

sparsecollConfig_t random_config(Random& random) {
  std::vector<Choice> choices;
  for (const test::Mode& mode : test::kSparseModes)
    choices.push_back({mode.algorithm, sparsecollSelectExact});
  choices.push_back({sparsecollAlgoOktopk, sparsecollSelectReuse});
  for (const test::Mode& mode : test::kRoundingModes)
    if (mode.verb == test::Verb::kSparse)
      choices.push_back({mode.algorithm, sparsecollSelectExact, mode.wire});
  for (const int wire : test::kRoundingWires)
    choices.push_back({sparsecollAlgoOktopk, sparsecollSelectReuse, wire});
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  const Choice choice = random.pick(choices);
  config.algorithm = choice.algorithm;
  config.selection = choice.selection;
  config.wire = choice.wire;
  config.residualRule = random.one_in(3) ? sparsecollResidualPaper : sparsecollResidualConserving;
  // The oracles of wires that round support only new regions in each call.
  const bool anew = choice.wire != sparsecollWireNative;
  config.repartitionInterval = anew ? 1 : 1 + static_cast<int>(random.below(3));
  config.thresholdInterval = 1 + static_cast<int>(random.below(3));
  config.blocking = random.one_in(3) ? 0 : 1;
  return config;
}

void add_tensor(Random& random, ScheduleContext& context) {
  const size_t lengths[] = {0, 1, 2, 17, 17, 64, 64, 300, 300, 1500};
  const sparsecollDataType_t types[] = {sparsecollFloat32, sparsecollFloat32, sparsecollFloat64,
                                        sparsecollFloat16, sparsecollBfloat16};
  const size_t n = random.pick(lengths);
  const bool feedback = !random.one_in(5);
  test::with_type(random.pick(types),
                  [&](auto zero) { add_typed<decltype(zero)>(random, context, n, feedback); });
}

size_t random_k(Random& random, size_t n, bool reuses) {
  const size_t usual[] = {0, 1, n / 100, n / 10, n / 2};
  const size_t beyond[] = {n + 3, SPARSECOLL_ALL};
  return reuses || !random.one_in(4) ? std::min(n, random.pick(usual)) : random.pick(beyond);
}

std::unique_ptr<RandomCall> plan_verb(const Plan& plan) {
  constexpr std::unique_ptr<RandomCall> (*kVerbs[])(const Plan&) = {
      plan_dense,    plan_dense,          plan_coordinates, plan_coordinates,
      plan_integers, plan_reduce_scatter, plan_alltoall};
  auto call = plan.random.pick(kVerbs)(plan);
  return call ? std::move(call) : plan_dense(plan);
}

std::unique_ptr<RandomCall> plan_call(const Plan& plan) {
  const size_t kind = plan.random.below(10);
  // Splits and push-sum make calls when their output is checked, so that no other call may be
  // queued after them.
  if (kind == 0 && plan.context.waits) return plan_split(plan);
  if (kind == 1 && plan.context.waits) return plan_gossip(plan);
  if (kind < 4) return plan_group(plan);
  return plan_verb(plan);
}

}  // namespace sparsecoll::fault
