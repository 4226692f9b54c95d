// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "soak/epoch.hpp"

#include <sstream>

namespace sparsecoll::soak {

namespace {

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return "no fault";
    case FaultKind::kKill:
      return "a rank that dies";
    case FaultKind::kKillSaving:
      return "a rank that dies while it saves";
    case FaultKind::kLate:
      return "a rank that is late";
    case FaultKind::kAbort:
      return "an abort";
  }
  return "?";
}

}  // namespace

Epoch::Epoch(uint64_t seed, fault::ScheduleContext& context, const Options& options) {
  fault::Random random(seed);
  const size_t calls = 1 + random.below(8);
  plan_fault(random, context, options, calls);
  if (random.one_in(3)) {
    const fault::BadArgument bad_arguments[] = {
        fault::BadArgument::kEnumerator, fault::BadArgument::kStream, fault::BadArgument::kNull};
    deviation_ = {random.below(calls),
                  static_cast<int>(random.below(static_cast<size_t>(context.P))),
                  random.pick(bad_arguments)};
  }
  for (size_t number = 0; number < calls; ++number) {
    for (const auto& tensor : context.tensors) tensor->begin_call();
    const auto& tensor = context.tensors[random.below(context.tensors.size())];
    calls_.push_back(fault::plan_call({random, context, *tensor, refused(number), true}));
  }
}

void Epoch::plan_fault(fault::Random& random, const fault::ScheduleContext& context,
                       const Options& options, size_t calls) {
  const bool fails = random.below(100) < static_cast<size_t>(options.faults);
  const bool dies = random.below(100) < static_cast<size_t>(options.kills);
  const size_t kind = random.below(4);
  fault_.call = random.below(calls);
  fault_.victim = static_cast<int>(random.below(static_cast<size_t>(context.P)));
  fault_.tensor = random.below(context.tensors.size());
  fault_.delay_us = static_cast<int>(random.below(random.one_in(2) ? 300 : 5000));
  fault_.silently = random.one_in(2);
  fault_.known = !random.one_in(3);
  if (!fails) return;
  if (dies)
    fault_.kind = kind == 0 ? FaultKind::kKillSaving : FaultKind::kKill;
  else
    fault_.kind = kind == 0 ? FaultKind::kLate : FaultKind::kAbort;
}

fault::BadArgument Epoch::bad_argument(size_t number, int rank) const {
  return refused(number) && deviation_->rank == rank ? deviation_->bad_argument
                                                     : fault::BadArgument::kNone;
}

sparsecollResult_t Epoch::refusal(int rank) const {
  return deviation_->rank == rank ? sparsecollInvalidArgument : sparsecollInvalidUsage;
}

size_t Epoch::calls_of(uint64_t committed) const {
  size_t complete = 0;
  for (uint64_t collectives = 0; complete < calls_.size(); ++complete) {
    collectives += refused(complete) ? 1 : calls_[complete]->collective_calls();
    if (collectives > committed) break;
  }
  return complete;
}

std::string Epoch::describe() const {
  std::ostringstream out;
  out << name_of(fault_.kind) << ": rank " << fault_.victim << " in call " << fault_.call
      << ", after " << fault_.delay_us << " us";
  for (size_t number = 0; number < calls_.size(); ++number)
    out << "\n    call " << number << ": " << calls_[number]->describe();
  if (deviation_)
    out << "\n    but in call " << deviation_->call << " rank " << deviation_->rank
        << " passes bad argument " << static_cast<int>(deviation_->bad_argument);
  return out.str();
}

sparsecollConfig_t first_config(const Options& options) {
  sparsecollConfig_t config = config_of_epoch(options.seed, options);
  config.timeoutMs = kFirstDeadlineMs;
  return config;
}

sparsecollConfig_t config_of_epoch(uint64_t seed, const Options& options) {
  fault::Random random(seed);
  sparsecollConfig_t config;
  // Residuals of Sharded hold one shard. When a rank is gone, what it held is lost, and the others'
  // parts go to new owners: tests/fault/move_test.cpp.
  do config = fault::random_config(random);
  while (config.algorithm == sparsecollAlgoSharded);
  config.timeoutMs = options.timeout_ms;
  return config;
}

}  // namespace sparsecoll::soak
