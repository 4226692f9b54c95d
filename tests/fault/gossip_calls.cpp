// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Push-sum in a random schedule: a state is made, a few steps are made with it, and it is drained;
// sometimes it is then saved, goes on, goes back to what was saved, and goes on again.

#include <optional>
#include <sstream>

#include "fault/gossip_graph.hpp"
#include "fault/random_call.hpp"
#include "support/folder.hpp"

namespace sparsecoll::fault {

namespace {

class Gossip final : public RandomCall {
 public:
  explicit Gossip(const Plan& plan)
      : may_fail_(plan.world.may_fail),
        graph_(plan.dice),
        steps_(1 + plan.dice.pick(4)),
        config_(graph_.config()),
        states_(static_cast<size_t>(plan.world.P), kUntouched),
        drained_(states_.size(), 0),
        first_(test::make_data_of_all<double>(test::Kind::kWideIntegers, kLength, plan.world.P,
                                              plan.dice.seed())),
        x_(first_) {
    const int delays[] = {0, 0, 1, 2, -1};
    config_.maxDelay = plan.dice.one_of(delays);
    if (plan.dice.one_in(3)) {
      config_.k = 1 + plan.dice.pick(kLength + 3);
      config_.mixing = plan.dice.one_in(2) ? 0.5 : 0.125;
    }
    replay_.emplace(first_, oracle::PushSumReplay::Compression{config_.k, config_.mixing});
    for (size_t t = 0; t < steps_; ++t) replay_->step_of_all(graph_.matrix(plan.world.P, t));
    // Not where the same call is made for every byte of its messages.
    if (plan.may_truncate && plan.dice.one_in(4)) saved_.emplace();
  }

  std::string describe() const override {
    std::ostringstream out;
    out << "push-sum, " << graph_.name() << ", " << steps_ << " steps, delay " << config_.maxDelay
        << ", k " << config_.k << ", mixing " << config_.mixing << (saved_ ? ", goes back" : "");
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
    const End end{comm, states_[static_cast<size_t>(rank)], x_[static_cast<size_t>(rank)]};
    std::string verdict;
    sparsecollResult_t result = walk(end);
    if (result == sparsecollSuccess && config_.maxDelay == 0)
      verdict = test::distance("x", end.x, replay_->x(rank), 1e-12);
    if (result == sparsecollSuccess) result = drain(end);
    if (result == sparsecollSuccess && verdict.empty() && saved_)
      result = go_back(rank, end, &verdict);
    drained_[static_cast<size_t>(rank)] = result == sparsecollSuccess;
    const bool failed = result == sparsecollTimeout || result == sparsecollRemoteError ||
                        result == sparsecollSystemError || result == sparsecollInvalidUsage;
    if (result == sparsecollSuccess || (may_fail_ && failed)) return verdict;
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

  /// The making, the steps, the drain; and the way on, twice.
  uint64_t collectives() const override {
    return 1 + (steps_ + 1) * (saved_ ? uint64_t{3} : uint64_t{1});
  }

 private:
  static constexpr size_t kLength = 20;
  static inline const sparsecollPushSum_t kUntouched = reinterpret_cast<sparsecollPushSum_t>(1);

  /// One rank's end.
  struct End {
    sparsecollComm_t comm;
    sparsecollPushSum_t state;
    std::vector<double>& x;
  };

  static sparsecollResult_t settle(sparsecollResult_t result, sparsecollComm_t comm) {
    return result == sparsecollSuccess ? sparsecollCommSynchronize(comm) : result;
  }

  sparsecollResult_t walk(const End& end) const {
    sparsecollResult_t result = sparsecollSuccess;
    for (size_t t = 0; t < steps_ && result == sparsecollSuccess; ++t)
      result = settle(pushSumStep(end.x.data(), nullptr, kLength, sparsecollFloat64, end.state,
                                  end.comm, nullptr),
                      end.comm);
    return result;
  }

  static sparsecollResult_t drain(const End& end) {
    return settle(sparsecollPushSumDrain(end.state, end.x.data(), nullptr, nullptr), end.comm);
  }

  /// Nobody waits for anybody between the drain and the load, nor behind the load.
  sparsecollResult_t go_back(int rank, const End& end, std::string* verdict) const {
    const std::string path = saved_->file(std::to_string(rank));
    const std::vector<double> then = end.x;
    sparsecollResult_t result = sparsecollPushSumSave(end.state, path.c_str());
    if (result == sparsecollSuccess) result = walk(end);
    if (result == sparsecollSuccess) result = drain(end);
    if (result == sparsecollSuccess) result = sparsecollPushSumLoad(end.state, path.c_str());
    if (result != sparsecollSuccess) return result;
    const std::vector<double> once = end.x;
    end.x = then;
    result = walk(end);
    if (result == sparsecollSuccess) result = drain(end);
    if (result == sparsecollSuccess && config_.maxDelay == 0)
      *verdict = test::difference("x after the same steps", end.x, once);
    return result;
  }

  bool may_fail_;
  GossipGraph graph_;
  size_t steps_;
  sparsecollPushSumConfig_t config_;
  std::vector<sparsecollPushSum_t> states_;
  std::vector<char> drained_;
  oracle::PerRank<std::vector<double>> first_;
  oracle::PerRank<std::vector<double>> x_;
  std::optional<oracle::PushSumReplay> replay_;
  std::optional<test::Folder> saved_;  ///< files of the ranks, where they go back
};

}  // namespace

std::unique_ptr<RandomCall> plan_gossip(const Plan& plan) { return std::make_unique<Gossip>(plan); }

}  // namespace sparsecoll::fault
