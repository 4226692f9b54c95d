// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/group_voice.hpp"

namespace sparsecoll {

namespace {
/// Thrown into the members that are left when one has failed.
struct GivenUp {};
}  // namespace

Voice::Voice(AgreedCall& call, FiberStacks& stacks, const GroupMember& member)
    : call_(call), after_(member.after), fiber_(stacks, [this, run = member.run] { run(*this); }) {
  stats_.timeline = call.stats().timeline;
}

void Voice::exchange_each(std::span<Leg> legs, FunctionRef<void(size_t leg)> on_message) {
  legs_ = legs;
  hand_back(State::exchanging);
  tell_all(legs, on_message);
}

void Voice::hand_back(State state) {
  state_ = state;
  fiber_.yield();
  if (given_up_) throw GivenUp{};
}

void Voice::go_on() {
  fiber_.resume();
  if (fiber_.ended()) state_ = State::ended;
}

void Voice::give_up() noexcept {
  if (!fiber_.started() || fiber_.ended()) return;
  given_up_ = true;
  try {
    fiber_.resume();
  } catch (...) {
    // The first error is the one to tell of.
  }
}

}  // namespace sparsecoll
