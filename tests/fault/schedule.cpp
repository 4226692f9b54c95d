// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/schedule.hpp"

#include <sstream>
#include <vector>

#include "support/config.hpp"

namespace sparsecoll::fault {

namespace {

constexpr int kLongDeadlineMs = 30000;

const char* name_of(FaultKind fault_kind) {
  switch (fault_kind) {
    case FaultKind::kNone:
      return "no fault";
    case FaultKind::kKill:
      return "a failed rank";
    case FaultKind::kCorrupt:
      return "a damaged message";
    case FaultKind::kDrop:
      return "a lost message";
    case FaultKind::kAbort:
      return "an abort";
    case FaultKind::kDestroy:
      return "an early destroy";
    case FaultKind::kFewerCalls:
      return "a rank that makes fewer calls";
    case FaultKind::kShortDeadline:
      return "a short deadline";
  }
  return "?";
}

}  // namespace

Schedule::Schedule(uint64_t seed) : seed_(seed) {
  Random random(seed);
  context_.P = 1 + static_cast<int>(random.below(6));
  context_.config = random_config(random);
  const FaultKind fault_kinds[] = {
      FaultKind::kNone,    FaultKind::kNone,       FaultKind::kKill,
      FaultKind::kCorrupt, FaultKind::kDrop,       FaultKind::kAbort,
      FaultKind::kDestroy, FaultKind::kFewerCalls, FaultKind::kShortDeadline};
  fault_kind_ = random.pick(fault_kinds);
  delays_ = random.one_in(3);
  victim_ = static_cast<int>(random.below(static_cast<size_t>(P())));
  message_ = random.below(random.one_in(2) ? 6 : 30);
  byte_ = random.below(random.one_in(2) ? 64 : 3000);
  const size_t calls = 1 + random.below(4);
  first_missing_call_ = random.below(calls);
  context_.may_fail = fault_kind_ != FaultKind::kNone;
  if (queued()) waiting_ = random.one_in(2) ? Waiting::kEach : Waiting::kEnd;
  if (queued() && fault_kind_ == FaultKind::kNone && random.one_in(3)) waiting_ = Waiting::kNever;
  context_.waits = waiting_ == Waiting::kEach;
  for (size_t tensors = 1 + random.below(3); tensors > 0; --tensors) add_tensor(random, context_);
  plan_deviation(random, calls);
  for (size_t number = 0; number < calls; ++number) {
    for (const auto& tensor : context_.tensors) tensor->begin_call();
    const auto& tensor = context_.tensors[random.below(context_.tensors.size())];
    calls_.push_back(plan_call({random, context_, *tensor, refused(number), true}));
  }
  plan_deadline(random);
}

void Schedule::plan_deadline(Random& random) {
  bool parts = false;
  for (const auto& call : calls_) parts = parts || call->splits_communicator();
  // A rank waits for a failed rank only if it does not know of the failure.
  const bool known =
      !parts && (fault_kind_ == FaultKind::kAbort || fault_kind_ == FaultKind::kDestroy);
  const bool patient = fault_kind_ == FaultKind::kNone || known;
  context_.config.timeoutMs =
      patient
          ? kLongDeadlineMs
          : kMaxShortDeadlineMs / 5 + static_cast<int>(random.below(kMaxShortDeadlineMs * 4 / 5));
}

void Schedule::plan_deviation(Random& random, size_t calls) {
  if (!random.one_in(4)) return;
  const BadArgument bad_arguments[] = {BadArgument::kNone, BadArgument::kEnumerator,
                                       BadArgument::kStream, BadArgument::kNull};
  Deviation deviation{random.below(calls), static_cast<int>(random.below(static_cast<size_t>(P()))),
                      random.pick(bad_arguments), nullptr};
  if (deviation.bad_argument == BadArgument::kNone) {
    if (P() == 1) return;
    // No other tensor has length 7.
    deviation_context_.emplace(ScheduleContext{P(), context_.config, true, true, {}, {}});
    deviation_context_->tensors.push_back(std::make_unique<TypedTensor<float>>(
        size_t{7}, false, oracle::PerRank<std::vector<float>>{}));
    deviation_context_->tensors[0]->begin_call();
    const Plan plan{random, *deviation_context_, *deviation_context_->tensors[0], true, false};
    deviation.other = plan_verb(plan);
  }
  deviation_ = std::move(deviation);
}

size_t Schedule::calls_of(int rank) const {
  const bool makes_fewer =
      fault_kind_ == FaultKind::kDestroy || fault_kind_ == FaultKind::kFewerCalls;
  return makes_fewer && rank == victim_ ? first_missing_call_ : calls_.size();
}

RandomCall& Schedule::call(size_t number, int rank) const {
  const bool deviates = refused(number) && deviation_->rank == rank && deviation_->other;
  return deviates ? *deviation_->other : *calls_[number];
}

BadArgument Schedule::bad_argument(size_t number, int rank) const {
  return refused(number) && deviation_->rank == rank ? deviation_->bad_argument
                                                     : BadArgument::kNone;
}

bool Schedule::refused(size_t number) const { return deviation_ && deviation_->call == number; }

sparsecollResult_t Schedule::refusal(int rank) const {
  const bool bad = deviation_->rank == rank && deviation_->bad_argument != BadArgument::kNone;
  return bad ? sparsecollInvalidArgument : sparsecollInvalidUsage;
}

FaultPlan Schedule::plan(const std::function<void()>& abort) const {
  return [this, abort](int sender, int receiver, size_t number) {
    MessageFault fault;
    const uint64_t bits =
        test::noise(seed_ + 7, number, static_cast<uint64_t>(sender * 64 + receiver));
    if (delays_ && bits % 4 == 0) fault.delay = std::chrono::microseconds(bits % 3000);
    if (fault_kind_ == FaultKind::kAbort && sender == (victim_ + 1) % P() && number + 1 == message_)
      abort();
    if (sender != victim_ || number != message_) return fault;
    fault.kill_sender = fault_kind_ == FaultKind::kKill;
    fault.drop = fault_kind_ == FaultKind::kDrop;
    if (fault_kind_ == FaultKind::kCorrupt) fault.corrupt_byte = byte_;
    return fault;
  };
}

std::string Schedule::describe() const {
  std::ostringstream out;
  out << "P=" << P() << ", " << name_of(fault_kind_) << ": rank " << victim_ << ", message "
      << message_ << ", byte " << byte_ << ", call " << first_missing_call_
      << (delays_ ? "; delays" : "") << "; algorithm " << config().algorithm << ", selection "
      << config().selection << ", wire " << config().wire << ", rule " << config().residualRule
      << ", intervals " << config().repartitionInterval << " and " << config().thresholdInterval
      << ", deadline " << config().timeoutMs << " ms, blocking " << config().blocking << ", waits "
      << static_cast<int>(waiting_);
  for (size_t number = 0; number < calls_.size(); ++number)
    out << "\n    call " << number << ": " << calls_[number]->describe();
  if (deviation_)
    out << "\n    but in call " << deviation_->call << " rank " << deviation_->rank
        << (deviation_->other ? " calls " + deviation_->other->describe()
                              : " passes bad argument " +
                                    std::to_string(static_cast<int>(deviation_->bad_argument)));
  return out.str();
}

}  // namespace sparsecoll::fault
