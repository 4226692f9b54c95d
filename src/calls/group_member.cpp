// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/group_member.hpp"

namespace sparsecoll {

namespace {
/// Thrown into the members that are left when one has failed.
struct GivenUp {};
}  // namespace

MemberCall::MemberCall(AgreedCall& call, FiberStacks& stacks, const GroupTask& member)
    : call_(call), after_(member.after), fiber_(stacks, [this, run = member.run] { run(*this); }) {
  stats_.timeline = call.stats().timeline;
}

void MemberCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  transfers_ = transfers;
  hand_back(State::exchanging);
  tell_all(transfers, on_message);
}

void MemberCall::hand_back(State state) {
  state_ = state;
  fiber_.yield();
  if (given_up_) throw GivenUp{};
}

void MemberCall::go_on() {
  fiber_.resume();
  if (fiber_.ended()) state_ = State::ended;
}

void MemberCall::give_up() noexcept {
  if (!fiber_.started() || fiber_.ended()) return;
  given_up_ = true;
  try {
    fiber_.resume();
  } catch (...) {
    // The first error is the one to tell of.
  }
}

}  // namespace sparsecoll
