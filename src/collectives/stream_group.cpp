// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/stream_group.hpp"

#include "core/error.hpp"

namespace sparsecoll {

class StreamGroup::Member final : public Voice {
 public:
  using Voice::Voice;

  void uneven() override { uneven_ = true; }
  void settle(Kernels& kernels, const Settlement& counts) override {
    confirm();
    call().settle(kernels, counts);
  }

  bool exchanges() const { return state() == State::exchanging; }
  bool is_uneven() const { return uneven_; }

 private:
  bool uneven_ = false;
};

StreamGroup::StreamGroup(StreamCall& call, FiberStacks& stacks,
                         std::span<const GroupMember> members)
    : call_(call), voices_(call, stacks, members) {}
StreamGroup::~StreamGroup() = default;

void StreamGroup::run() {
  voices_.run([this] { advance(); });
}

std::vector<StreamGroup::Member*> StreamGroup::next() {
  std::vector<Member*> even;
  Member* alone = nullptr;
  for (Member& member : voices_) {
    if (!member.exchanges()) continue;
    if (!member.is_uneven())
      even.push_back(&member);
    else if (!alone)
      alone = &member;
  }
  if (!even.empty()) return even;
  if (!alone) fail(sparsecollInternalError, "a call of a group ended before it confirmed");
  return {alone};
}

void StreamGroup::advance() {
  const std::vector<Member*> members = next();
  std::vector<Leg> legs;
  for (const Member* member : members)
    legs.insert(legs.end(), member->legs().begin(), member->legs().end());
  call_.exchange(legs);
  for (auto leg = legs.begin(); const Member* member : members)
    for (Leg& own : member->legs()) own.in = (leg++)->in;
  for (Member* member : members) member->go_on();
}

}  // namespace sparsecoll
