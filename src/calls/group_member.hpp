// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <exception>
#include <span>

#include "calls/call.hpp"
#include "calls/group_task.hpp"
#include "core/error.hpp"
#include "core/fiber.hpp"

namespace sparsecoll {

/// One verb of a group: the call that it sees, and the fiber that it runs on from one exchange to
/// the next.
class MemberCall : public AgreedCall {
 public:
  enum class State { fresh, exchanging, confirming, ended };

  /// Both outlive it.
  MemberCall(AgreedCall& call, FiberStacks& stacks, const GroupTask& member);

  // --- what the member sees
  int rank() const override { return call_.rank(); }
  int size() const override { return call_.size(); }
  bool in_stream_order() const override { return call_.in_stream_order(); }
  void read_with(Kernels&) override {}
  Stats& stats() override { return stats_; }
  uint64_t sequence() const override { return call_.sequence(); }
  uint64_t number() const override { return call_.number(); }
  const Deadline& deadline() const override { return call_.deadline(); }
  void learn_of(std::span<const int> ranks) override { call_.learn_of(ranks); }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  void agree() override { confirm(); }  // the group does
  void confirm() override { hand_back(State::confirming); }

  // --- what the group sees
  State state() const { return state_; }
  int after() const { return after_; }
  std::span<Transfer> transfers() const { return transfers_; }
  /// Lets the member run until it hands back or ends. Throws what it threw.
  void go_on();
  /// Ends a member that will not be heard of again.
  void give_up() noexcept;

 protected:
  AgreedCall& call() const { return call_; }
  void hand_back(State state);

 private:
  AgreedCall& call_;
  Stats stats_;
  State state_ = State::fresh;
  int after_;
  std::span<Transfer> transfers_;
  bool given_up_ = false;
  Fiber fiber_;  ///< last: it uses the others
};

/// All of a group's, each a V, which is a MemberCall.
template <class V>
class MemberCalls {
 public:
  /// `call`, a FramedCall or StreamCall, and the stacks outlive them.
  template <class OfGroup>
  MemberCalls(OfGroup& call, FiberStacks& stacks, std::span<const GroupTask> members)
      : call_(call) {
    for (const GroupTask& member : members) members_.emplace_back(call, stacks, member);
  }

  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  size_t size() const { return members_.size(); }
  V& operator[](size_t member) { return members_[member]; }

  /// From the beginning to the end. `advance` brings one member at least from its exchange to the
  /// next or to its confirm(). When all have come to that, the call as a whole is confirmed, and
  /// only then do they write anything. Throws what the first member to fail threw, and all end
  /// there; what is thrown after the confirmation does not keep the others from ending.
  void run(FunctionRef<void()> advance) {
    try {
      for (start(); !all_confirm(); start()) advance();
      call_.confirm();
    } catch (...) {
      for (V& member : members_) member.give_up();
      throw;
    }
    finish();
  }

 private:
  /// Those that may.
  void start() {
    for (V& member : members_) {
      const bool free =
          member.after() < 0 ||
          members_[static_cast<size_t>(member.after())].state() == MemberCall::State::confirming;
      if (member.state() == MemberCall::State::fresh && free) member.go_on();
    }
  }

  bool all_confirm() const {
    return std::all_of(members_.begin(), members_.end(), [](const V& member) {
      return member.state() == MemberCall::State::confirming;
    });
  }

  void finish() {
    std::exception_ptr truncated, worse;  // what is worse is told first
    for (V& member : members_) {
      try {
        member.go_on();
      } catch (const Error& error) {
        auto& first = error.code() == sparsecollTruncated ? truncated : worse;
        if (!first) first = std::current_exception();
      } catch (...) {
        if (!worse) worse = std::current_exception();
      }
      call_.stats().add(member.stats());
    }
    if (worse) std::rethrow_exception(worse);
    if (truncated) std::rethrow_exception(truncated);
  }

  AgreedCall& call_;
  std::deque<V> members_;  ///< fibers do not move
};

}  // namespace sparsecoll
