// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Push-sum in a random schedule: a state is made, a few steps are made with it, and it is drained.

#include <sstream>

#include "fault/random_call.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::fault {

namespace {

class Gossip final : public RandomCall {
 public:
  explicit Gossip(const Plan& plan)
      : may_fail_(plan.world.may_fail),
        graph_(plan.dice.one_of(test::kGraphs)),
        steps_(1 + plan.dice.pick(4)),
        config_(graph_.config()),
        states_(static_cast<size_t>(plan.world.P), kUntouched),
        drained_(states_.size(), 0),
        first_(test::make_data_of_all<double>(test::Kind::kWideIntegers, kLength, plan.world.P,
                                              plan.dice.seed())),
        x_(first_),
        replay_(first_) {
    const int delays[] = {0, 0, 1, 2, -1};
    config_.maxDelay = plan.dice.one_of(delays);
    for (size_t t = 0; t < steps_; ++t) replay_.step_of_all(graph_.matrix(plan.world.P, t));
  }

  std::string describe() const override {
    std::ostringstream out;
    out << "push-sum, " << graph_.name << ", " << steps_ << " steps, delay " << config_.maxDelay;
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, Flaw flaw) override {
    sparsecollPushSumConfig_t config = config_;
    if (flaw == Flaw::kEnumerator) config.graph = 77;
    if (flaw == Flaw::kStream) config.maxDelay = -7;
    return sparsecollPushSumCreate(
        flaw == Flaw::kNull ? nullptr : &states_[static_cast<size_t>(rank)], kLength,
        sparsecollFloat64, &config, comm);
  }

  bool truncates(int) const override { return false; }

  std::string check_output(int rank, sparsecollComm_t comm, bool) override {
    if (comm == nullptr) return "";  // the state ended with it
    const auto r = static_cast<size_t>(rank);
    sparsecollResult_t result = sparsecollSuccess;
    for (size_t t = 0; t < steps_ && result == sparsecollSuccess; ++t)
      result = settle(
          pushSumStep(x_[r].data(), nullptr, kLength, sparsecollFloat64, states_[r], comm, nullptr),
          comm);
    std::string verdict;
    if (result == sparsecollSuccess && config_.maxDelay == 0)
      verdict = test::distance("x", x_[r], replay_.x(rank), 1e-12);
    if (result == sparsecollSuccess)
      result = settle(sparsecollPushSumDrain(states_[r], x_[r].data(), nullptr, nullptr), comm);
    drained_[r] = result == sparsecollSuccess;
    const bool failed = result == sparsecollTimeout || result == sparsecollRemoteError ||
                        result == sparsecollSystemError || result == sparsecollInvalidUsage;
    if (drained_[r] || (may_fail_ && failed)) return verdict;
    return "push-sum: " + test::explain(result, comm);
  }

  std::string check_untouched(int rank) const override {
    return states_[static_cast<size_t>(rank)] == kUntouched ? "" : "state was written";
  }

  std::string check_together() const override {
    for (const char each : drained_)
      if (!each) return "";
    return test::distance("sum of x", test::sum_of(x_), test::sum_of(first_), 1e-12);
  }

  /// The making, the steps, the drain.
  uint64_t collectives() const override { return steps_ + 2; }

 private:
  static constexpr size_t kLength = 20;
  static inline const sparsecollPushSum_t kUntouched = reinterpret_cast<sparsecollPushSum_t>(1);

  static sparsecollResult_t settle(sparsecollResult_t result, sparsecollComm_t comm) {
    return result == sparsecollSuccess ? sparsecollCommSynchronize(comm) : result;
  }

  bool may_fail_;
  test::GraphCase graph_;
  size_t steps_;
  sparsecollPushSumConfig_t config_;
  std::vector<sparsecollPushSum_t> states_;
  std::vector<char> drained_;
  oracle::PerRank<std::vector<double>> first_;
  oracle::PerRank<std::vector<double>> x_;
  oracle::PushSumReplay replay_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_gossip(const Plan& plan) { return std::make_unique<Gossip>(plan); }

}  // namespace sparsecoll::fault
