// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/schedule.hpp"

#include <sstream>
#include <vector>

#include "support/config.hpp"

namespace sparsecoll::fault {

namespace {

constexpr int kPatientMs = 30000;

struct Choice {
  int algorithm;
  int selection;
  int wire = sparsecollWireNative;
};

const char* name_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone:
      return "no trouble";
    case Trouble::kKill:
      return "a death";
    case Trouble::kDamage:
      return "damage";
    case Trouble::kLoss:
      return "a loss";
    case Trouble::kAbort:
      return "an abort";
    case Trouble::kLeave:
      return "a rank that leaves";
    case Trouble::kAbsence:
      return "a rank that stays away";
    case Trouble::kHurry:
      return "a short deadline";
  }
  return "?";
}

sparsecollConfig_t random_config(Dice& dice) {
  std::vector<Choice> choices;
  for (const test::Mode& mode : test::kSparseModes)
    choices.push_back({mode.algorithm, sparsecollSelectExact});
  choices.push_back({sparsecollAlgoOktopk, sparsecollSelectReuse});
  for (const test::Mode& mode : test::kBf16Modes)
    if (mode.verb == test::Verb::kSparse)
      choices.push_back({mode.algorithm, sparsecollSelectExact, sparsecollWireBf16});
  choices.push_back({sparsecollAlgoOktopk, sparsecollSelectReuse, sparsecollWireBf16});
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  const Choice choice = dice.one_of(choices);
  config.algorithm = choice.algorithm;
  config.selection = choice.selection;
  config.wire = choice.wire;
  config.residualRule = dice.one_in(3) ? sparsecollResidualPaper : sparsecollResidualConserving;
  // The oracle of a bfloat16 wire knows only regions that are cut anew in every call.
  const bool anew = choice.wire == sparsecollWireBf16;
  config.repartitionInterval = anew ? 1 : 1 + static_cast<int>(dice.pick(3));
  config.thresholdInterval = 1 + static_cast<int>(dice.pick(3));
  config.blocking = dice.one_in(3) ? 0 : 1;
  return config;
}

}  // namespace

Schedule::Schedule(uint64_t seed) : seed_(seed) {
  Dice dice(seed);
  world_.P = 1 + static_cast<int>(dice.pick(6));
  world_.config = random_config(dice);
  const Trouble troubles[] = {Trouble::kNone,   Trouble::kNone,    Trouble::kKill,
                              Trouble::kDamage, Trouble::kLoss,    Trouble::kAbort,
                              Trouble::kLeave,  Trouble::kAbsence, Trouble::kHurry};
  trouble_ = dice.one_of(troubles);
  delays_ = dice.one_in(3);
  victim_ = static_cast<int>(dice.pick(static_cast<size_t>(P())));
  message_ = dice.pick(dice.one_in(2) ? 6 : 30);
  byte_ = dice.pick(dice.one_in(2) ? 64 : 3000);
  const size_t calls = 1 + dice.pick(4);
  from_ = dice.pick(calls);
  world_.may_fail = trouble_ != Trouble::kNone;
  if (queued()) waiting_ = dice.one_in(2) ? Waiting::kEach : Waiting::kEnd;
  if (queued() && trouble_ == Trouble::kNone && dice.one_in(3)) waiting_ = Waiting::kNever;
  world_.waits = waiting_ == Waiting::kEach;
  for (size_t tensors = 1 + dice.pick(3); tensors > 0; --tensors) add_tensor(dice, world_);
  plan_deviation(dice, calls);
  for (size_t number = 0; number < calls; ++number) {
    for (const auto& tensor : world_.tensors) tensor->next_call();
    const auto& tensor = world_.tensors[dice.pick(world_.tensors.size())];
    calls_.push_back(plan_call({dice, world_, *tensor, refused(number), true}));
  }
  plan_deadline(dice);
}

void Schedule::plan_deadline(Dice& dice) {
  bool parts = false;
  for (const auto& call : calls_) parts = parts || call->makes_parts();
  // Whoever waits for a rank that is known to be gone need not wait for long.
  const bool known = !parts && (trouble_ == Trouble::kAbort || trouble_ == Trouble::kLeave);
  const bool patient = trouble_ == Trouble::kNone || known;
  world_.config.timeoutMs =
      patient ? kPatientMs : kLongestHurry / 5 + static_cast<int>(dice.pick(kLongestHurry * 4 / 5));
}

void Schedule::plan_deviation(Dice& dice, size_t calls) {
  if (!dice.one_in(4)) return;
  const Flaw flaws[] = {Flaw::kNone, Flaw::kEnumerator, Flaw::kStream, Flaw::kNull};
  Deviation deviation{dice.pick(calls), static_cast<int>(dice.pick(static_cast<size_t>(P()))),
                      dice.one_of(flaws), nullptr};
  if (deviation.flaw == Flaw::kNone) {
    if (P() == 1) return;
    // A length that no other call has.
    others_.emplace(World{P(), world_.config, true, true, {}, {}});
    others_->tensors.push_back(std::make_unique<TypedTensor<float>>(
        size_t{7}, false, oracle::PerRank<std::vector<float>>{}));
    others_->tensors[0]->next_call();
    const Plan plan{dice, *others_, *others_->tensors[0], true, false};
    deviation.other = plan_verb(plan);
  }
  deviation_ = std::move(deviation);
}

size_t Schedule::calls_of(int rank) const {
  const bool away = trouble_ == Trouble::kLeave || trouble_ == Trouble::kAbsence;
  return away && rank == victim_ ? from_ : calls_.size();
}

RandomCall& Schedule::call(size_t number, int rank) const {
  const bool deviates = refused(number) && deviation_->rank == rank && deviation_->other;
  return deviates ? *deviation_->other : *calls_[number];
}

Flaw Schedule::flaw(size_t number, int rank) const {
  return refused(number) && deviation_->rank == rank ? deviation_->flaw : Flaw::kNone;
}

bool Schedule::refused(size_t number) const { return deviation_ && deviation_->call == number; }

sparsecollResult_t Schedule::refusal(int rank) const {
  const bool bad = deviation_->rank == rank && deviation_->flaw != Flaw::kNone;
  return bad ? sparsecollInvalidArgument : sparsecollInvalidUsage;
}

FaultPlan Schedule::plan(const std::function<void()>& abort) const {
  return [this, abort](int sender, int receiver, size_t number) {
    MessageFault fault;
    const uint64_t dice =
        test::noise(seed_ + 7, number, static_cast<uint64_t>(sender * 64 + receiver));
    if (delays_ && dice % 4 == 0) fault.delay = std::chrono::microseconds(dice % 3000);
    if (trouble_ == Trouble::kAbort && sender == (victim_ + 1) % P() && number + 1 == message_)
      abort();
    if (sender != victim_ || number != message_) return fault;
    fault.kill_sender = trouble_ == Trouble::kKill;
    fault.drop = trouble_ == Trouble::kLoss;
    if (trouble_ == Trouble::kDamage) fault.corrupt_byte = byte_;
    return fault;
  };
}

std::string Schedule::describe() const {
  std::ostringstream out;
  out << "P=" << P() << ", " << name_of(trouble_) << ": rank " << victim_ << ", message "
      << message_ << ", byte " << byte_ << ", call " << from_ << (delays_ ? "; delays" : "")
      << "; algorithm " << config().algorithm << ", selection " << config().selection << ", wire "
      << config().wire << ", rule " << config().residualRule << ", intervals "
      << config().repartitionInterval << " and " << config().thresholdInterval << ", deadline "
      << config().timeoutMs << " ms, blocking " << config().blocking << ", waits "
      << static_cast<int>(waiting_);
  for (size_t number = 0; number < calls_.size(); ++number)
    out << "\n    call " << number << ": " << calls_[number]->describe();
  if (deviation_)
    out << "\n    but in call " << deviation_->call << " rank " << deviation_->rank
        << (deviation_->other ? " calls " + deviation_->other->describe()
                              : " has flaw " + std::to_string(static_cast<int>(deviation_->flaw)));
  return out.str();
}

}  // namespace sparsecoll::fault
