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

/// One verb of a group: the call that the verb uses, and the fiber on which it runs from one
/// exchange to the next.
class MemberCall : public AgreedCall {
 public:
  enum class State { not_started, exchanging, confirming, ended };

  /// `call` and `stacks` outlive this object.
  MemberCall(AgreedCall& call, FiberStacks& stacks, const GroupTask& task);

  // --- for the verb
  int rank() const override { return call_.rank(); }
  int size() const override { return call_.size(); }
  bool in_stream_order() const override { return call_.in_stream_order(); }
  bool can_read_peers() const override { return call_.can_read_peers(); }
  bool shares_memory(int peer) const override { return call_.shares_memory(peer); }
  bool can_reduce_in_node() const override { return call_.can_reduce_in_node(); }
  void reduce_scatter_in_node(const void* in, size_t shares, size_t count, DataType type,
                              void* out) override {
    call_.reduce_scatter_in_node(in, shares, count, type, out);
  }
  void set_kernels(Kernels&) override {}
  Stats& stats() override { return stats_; }
  uint64_t sequence() const override { return call_.sequence(); }
  uint64_t number() const override { return call_.number(); }
  const Deadline& deadline() const override { return call_.deadline(); }
  void mark_covered(std::span<const int> ranks) override { call_.mark_covered(ranks); }
  void mark() override { marked_ = true; }
  bool marked() const override { return marked_; }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  void agree() override { confirm(); }  // The group agrees.
  void confirm() override { yield(State::confirming); }

  // --- for the group
  State state() const { return state_; }
  /// GroupTask::after of the verb.
  int after() const { return after_; }
  /// The exchange for which the verb waits.
  std::span<Transfer> transfers() const { return transfers_; }
  /// Runs the verb until it yields or ends. Throws what it throws.
  void resume();
  /// Ends a waiting verb by an exception. Does nothing if it has not started or has ended.
  void cancel() noexcept;

 protected:
  AgreedCall& call() const { return call_; }

 private:
  /// Switches to the group, and returns at the next resume().
  void yield(State state);

  AgreedCall& call_;
  Stats stats_;
  State state_ = State::not_started;
  int after_;
  std::span<Transfer> transfers_;
  bool cancelled_ = false;
  bool marked_ = false;
  Fiber fiber_;  ///< the last member, because the fiber uses the others
};

/// All verbs of a group. `Member` is a subclass of MemberCall.
template <class Member>
class MemberCalls {
 public:
  /// `call`, a FramedCall or StreamCall, and `stacks` outlive this object.
  template <class OfGroup>
  MemberCalls(OfGroup& call, FiberStacks& stacks, std::span<const GroupTask> tasks) : call_(call) {
    for (const GroupTask& task : tasks) members_.emplace_back(call, stacks, task);
  }

  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  size_t size() const { return members_.size(); }
  Member& operator[](size_t member) { return members_[member]; }

  /// Runs all verbs to their end. `advance` brings at least one verb from its exchange to the next
  /// one, or to its confirm(). When all verbs have come to confirm(), this confirms the call of the
  /// group, and only then do verbs write outputs. Before that, the deadline is checked between the
  /// verbs; afterwards no verb is interrupted. Throws what the first verb to fail threw; the others
  /// are cancelled. After the confirmation the other verbs end before an exception is thrown.
  void run(FunctionRef<void()> advance) {
    try {
      for (start(); !all_confirm(); start()) advance();
      call_.confirm();
    } catch (...) {
      for (Member& member : members_) member.cancel();
      throw;
    }
    finish();
  }

 private:
  /// Starts the verbs that need no longer wait for others.
  void start() {
    for (Member& member : members_) {
      const bool free =
          member.after() < 0 ||
          members_[static_cast<size_t>(member.after())].state() == MemberCall::State::confirming;
      if (member.state() != MemberCall::State::not_started || !free) continue;
      call_.check_deadline();
      member.resume();
    }
  }

  bool all_confirm() const {
    return std::all_of(members_.begin(), members_.end(), [](const Member& member) {
      return member.state() == MemberCall::State::confirming;
    });
  }

  void finish() {
    std::exception_ptr truncated, worse;  // any other error goes before Truncated
    for (Member& member : members_) {
      try {
        member.resume();
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
  std::deque<Member> members_;  ///< a deque, because fibers cannot be moved
};

}  // namespace sparsecoll
