// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random groups and splits.

#include <sstream>

#include "fault/random_call.hpp"
#include "support/data.hpp"

namespace sparsecoll::fault {

namespace {

/// A group with one random call on each tensor of the schedule.
class Group final : public RandomCall {
 public:
  explicit Group(const Plan& plan) {
    for (const auto& tensor : plan.context.tensors)
      members_.push_back(
          plan_verb({plan.random, plan.context, *tensor, plan.refused, plan.may_truncate}));
  }

  std::string describe() const override {
    std::string all = "group of";
    for (const auto& member : members_) all += " {" + member->describe() + "}";
    return all;
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const sparsecollResult_t start = sparsecollGroupStart(comm);
    if (start != sparsecollSuccess) return start;
    for (const auto& member : members_) {
      member->make(rank, comm, bad_argument);  // GroupEnd reports the error
      bad_argument = BadArgument::kNone;
    }
    return sparsecollGroupEnd(comm);
  }

  bool truncates(int rank) const override {
    for (const auto& member : members_)
      if (member->truncates(rank)) return true;
    return false;
  }
  std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) override {
    for (const auto& member : members_) {
      const std::string verdict = member->check_output(rank, comm, may_fetch);
      if (!verdict.empty()) return member->describe() + ": " + verdict;
    }
    return "";
  }
  std::string check_untouched(int rank) const override {
    for (const auto& member : members_) {
      const std::string verdict = member->check_untouched(rank);
      if (!verdict.empty()) return member->describe() + ": " + verdict;
    }
    return "";
  }

 private:
  std::vector<std::unique_ptr<RandomCall>> members_;
};

/// A split, one call on each new communicator, and its destruction.
class Split final : public RandomCall {
 public:
  explicit Split(const Plan& plan)
      : may_fail_(plan.context.may_fail),
        mode_(plan.context.mode(test::Verb::kSparse)),
        children_(static_cast<size_t>(plan.context.P), kUntouched) {
    const size_t colors = 1 + plan.random.below(3);
    for (int rank = 0; rank < plan.context.P; ++rank) {
      const bool excluded = plan.random.one_in(6);
      colors_.push_back(excluded ? SPARSECOLL_SPLIT_NOCOLOR
                                 : static_cast<int>(plan.random.below(colors)));
    }
    sends_ = test::make_data_of_all<float>(test::Kind::kHeavyTail, kLength, plan.context.P,
                                           plan.random.seed());
  }

  std::string describe() const override {
    std::string all = "sparsecollCommSplit into";
    for (const int color : colors_) all += " " + std::to_string(color);
    return all;
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const auto r = static_cast<size_t>(rank);
    const int color =
        bad_argument == BadArgument::kEnumerator || bad_argument == BadArgument::kStream
            ? -7
            : colors_[r];
    return sparsecollCommSplit(
        comm, color, 0, bad_argument == BadArgument::kNull ? nullptr : &children_[r], nullptr);
  }

  bool truncates(int) const override { return false; }
  bool splits_communicator() const override { return true; }

  std::string check_output(int rank, sparsecollComm_t, bool) override {
    const auto r = static_cast<size_t>(rank);
    const sparsecollComm_t child = children_[r];
    if (colors_[r] == SPARSECOLL_SPLIT_NOCOLOR)
      return child == nullptr ? "" : "a communicator for a rank without a color";
    const std::string verdict = check_child(child, r);
    const sparsecollResult_t end = sparsecollCommDestroy(child);
    const bool failed = end == sparsecollTimeout || end == sparsecollRemoteError;
    if (!verdict.empty() || end == sparsecollSuccess || (may_fail_ && failed)) return verdict;
    return std::string("destroy of the child communicator: ") + sparsecollGetErrorString(end);
  }

  std::string check_untouched(int rank) const override {
    return children_[static_cast<size_t>(rank)] == kUntouched ? "" : "newcomm was written";
  }

 private:
  static constexpr size_t kLength = 40;
  static inline const sparsecollComm_t kUntouched = reinterpret_cast<sparsecollComm_t>(1);

  std::string check_child(sparsecollComm_t child, size_t rank) const {
    oracle::DenseInputs<float> in;
    test::Mode mode = mode_;
    const std::vector<int> nodes = test::nodes_of(mode, colors_.size());
    std::vector<int> nodes_of_child;  // each rank stays on its node
    if (!nodes.empty()) mode.nodes = &nodes_of_child;
    int own = 0, size = 0, want = 0;
    for (size_t r = 0; r < colors_.size(); ++r) {
      if (colors_[r] != colors_[rank]) continue;
      if (r < rank) ++want;
      in.sends.push_back(sends_[r]);
      if (!nodes.empty()) nodes_of_child.push_back(nodes[r]);
    }
    sparsecollCommRank(child, &own);
    sparsecollCommCount(child, &size);
    if (own != want || static_cast<size_t>(size) != in.sends.size())
      return "rank or size of the child communicator is wrong";
    std::vector<float> recv(kLength, -77.0f);
    sparsecollResult_t result =
        sparseAllreduce(sends_[rank].data(), recv.data(), kLength, 6, sparsecollFloat32,
                        sparsecollSum, nullptr, child, nullptr);
    if (result == sparsecollSuccess) result = sparsecollCommSynchronize(child);
    if (may_fail_ && (result == sparsecollTimeout || result == sparsecollRemoteError)) return "";
    if (result != sparsecollSuccess)
      return "in the child communicator: " + test::explain(result, child);
    // The first call of a shape selects exactly, even if later calls reuse thresholds.
    return test::difference("recvbuff in the child communicator", recv,
                            test::expected<float>(mode, in, 6, oracle::Op::kSum).result);
  }

  bool may_fail_;
  test::Mode mode_;
  std::vector<int> colors_;
  oracle::PerRank<std::vector<float>> sends_;
  std::vector<sparsecollComm_t> children_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_group(const Plan& plan) { return std::make_unique<Group>(plan); }

std::unique_ptr<RandomCall> plan_split(const Plan& plan) { return std::make_unique<Split>(plan); }

}  // namespace sparsecoll::fault
