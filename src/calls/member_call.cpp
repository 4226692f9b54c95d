// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/member_call.hpp"

namespace sparsecoll {

namespace {

/// Thrown inside a waiting verb, to end it after another verb has failed.
struct Cancelled {};

}  // namespace

MemberCall::MemberCall(AgreedCall& call, FiberStacks& stacks, const GroupTask& task)
    : call_(call), after_(task.after), fiber_(stacks, [this, run = task.run] { run(*this); }) {
  stats_.timeline = call.stats().timeline;
}

void MemberCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  transfers_ = transfers;
  yield(State::exchanging);
  visit_received(transfers, on_message);
}

void MemberCall::yield(State state) {
  state_ = state;
  fiber_.yield();
  if (cancelled_) throw Cancelled{};
}

void MemberCall::resume() {
  fiber_.resume();
  if (fiber_.ended()) state_ = State::ended;
}

void MemberCall::cancel() noexcept {
  if (!fiber_.started() || fiber_.ended()) return;
  cancelled_ = true;
  try {
    fiber_.resume();
  } catch (...) {
    // The group reports the first error, not the errors that follow from it.
  }
}

}  // namespace sparsecoll
