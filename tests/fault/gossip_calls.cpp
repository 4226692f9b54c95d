// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random push-sum. The ranks create a state, make a few steps and drain it. Some schedules then
// save the state, make more steps, load the saved state, and make the same steps again.

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
      : may_fail_(plan.context.may_fail),
        graph_(plan.random),
        steps_(1 + plan.random.below(4)),
        config_(graph_.config()),
        states_(static_cast<size_t>(plan.context.P), kUntouched),
        drained_(states_.size(), 0),
        first_(test::make_data_of_all<double>(test::Kind::kWideIntegers, kLength, plan.context.P,
                                              plan.random.seed())),
        x_(first_) {
    const int delays[] = {0, 0, 1, 2, -1};
    config_.maxDelay = plan.random.pick(delays);
    if (plan.random.one_in(3)) {
      config_.k = 1 + plan.random.below(kLength + 3);
      config_.mixing = plan.random.one_in(2) ? 0.5 : 0.125;
    }
    replay_.emplace(first_, oracle::PushSumReplay::Compression{config_.k, config_.mixing});
    for (size_t t = 0; t < steps_; ++t) replay_->step_of_all(graph_.matrix(plan.context.P, t));
    // Runs that make the call once for each byte of its messages do not save, to save time.
    if (plan.may_truncate && plan.random.one_in(4)) save_folder_.emplace();
  }

  std::string describe() const override {
    std::ostringstream out;
    out << "push-sum, " << graph_.name() << ", " << steps_ << " steps, delay " << config_.maxDelay
        << ", k " << config_.k << ", mixing " << config_.mixing
        << (save_folder_ ? ", saves and loads" : "");
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    sparsecollPushSumConfig_t config = config_;
    if (bad_argument == BadArgument::kEnumerator) config.graph = 77;
    if (bad_argument == BadArgument::kStream) config.maxDelay = -7;
    return sparsecollPushSumCreate(
        bad_argument == BadArgument::kNull ? nullptr : &states_[static_cast<size_t>(rank)], kLength,
        sparsecollFloat64, &config, comm);
  }

  bool truncates(int) const override { return false; }

  std::string check_output(int rank, sparsecollComm_t comm, bool) override {
    if (comm == nullptr) return "";  // the state was destroyed with the communicator
    const RankState state{comm, states_[static_cast<size_t>(rank)], x_[static_cast<size_t>(rank)]};
    std::string verdict;
    sparsecollResult_t result = take_steps(state);
    if (result == sparsecollSuccess && config_.maxDelay == 0)
      verdict = test::distance("x", state.x, replay_->x(rank), 1e-12);
    if (result == sparsecollSuccess) result = drain(state);
    if (result == sparsecollSuccess && verdict.empty() && save_folder_)
      result = save_and_replay(rank, state, &verdict);
    drained_[static_cast<size_t>(rank)] = result == sparsecollSuccess;
    const bool failed = result == sparsecollTimeout || result == sparsecollRemoteError ||
                        result == sparsecollSystemError || result == sparsecollInvalidUsage;
    if (result == sparsecollSuccess || (may_fail_ && failed)) return verdict;
    return "push-sum: " + test::explain(result, comm);
  }

  std::string check_untouched(int rank) const override {
    return states_[static_cast<size_t>(rank)] == kUntouched ? "" : "state was written";
  }

  std::string check_all_ranks() const override {
    for (const char each : drained_)
      if (!each) return "";
    return test::distance("sum of x", test::sum_of(x_), test::sum_of(first_), 1e-12);
  }

  /// Counts the creation, the steps and the drain. After a save, steps and drain happen twice more.
  uint64_t collective_calls() const override {
    return 1 + (steps_ + 1) * (save_folder_ ? uint64_t{3} : uint64_t{1});
  }

 private:
  static constexpr size_t kLength = 20;
  static inline const sparsecollPushSum_t kUntouched = reinterpret_cast<sparsecollPushSum_t>(1);

  /// The communicator, push-sum state and values of one rank.
  struct RankState {
    sparsecollComm_t comm;
    sparsecollPushSum_t state;
    std::vector<double>& x;
  };

  static sparsecollResult_t synchronize(sparsecollResult_t result, sparsecollComm_t comm) {
    return result == sparsecollSuccess ? sparsecollCommSynchronize(comm) : result;
  }

  sparsecollResult_t take_steps(const RankState& state) const {
    sparsecollResult_t result = sparsecollSuccess;
    for (size_t t = 0; t < steps_ && result == sparsecollSuccess; ++t)
      result = synchronize(pushSumStep(state.x.data(), nullptr, kLength, sparsecollFloat64,
                                       state.state, state.comm, nullptr),
                           state.comm);
    return result;
  }

  static sparsecollResult_t drain(const RankState& state) {
    return synchronize(sparsecollPushSumDrain(state.state, state.x.data(), nullptr, nullptr),
                       state.comm);
  }

  /// Saves the state, makes steps, loads the state and repeats the steps. Between the drain and the
  /// save, and after the load, no rank waits for another.
  sparsecollResult_t save_and_replay(int rank, const RankState& state, std::string* verdict) const {
    const std::string path = save_folder_->file(std::to_string(rank));
    const std::vector<double> saved_x = state.x;
    sparsecollResult_t result = sparsecollPushSumSave(state.state, path.c_str());
    if (result == sparsecollSuccess) result = take_steps(state);
    if (result == sparsecollSuccess) result = drain(state);
    if (result == sparsecollSuccess) result = sparsecollPushSumLoad(state.state, path.c_str());
    if (result != sparsecollSuccess) return result;
    const std::vector<double> first_x = state.x;
    state.x = saved_x;
    result = take_steps(state);
    if (result == sparsecollSuccess) result = drain(state);
    if (result == sparsecollSuccess && config_.maxDelay == 0)
      *verdict = test::difference("x after the same steps", state.x, first_x);
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
  std::optional<test::Folder> save_folder_;  ///< files of saved states, if the call saves
};

}  // namespace

std::unique_ptr<RandomCall> plan_gossip(const Plan& plan) { return std::make_unique<Gossip>(plan); }

}  // namespace sparsecoll::fault
