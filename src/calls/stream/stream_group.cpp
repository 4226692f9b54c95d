// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_group.hpp"

#include "core/error.hpp"

namespace sparsecoll {

class StreamGroup::StreamMember final : public MemberCall {
 public:
  using MemberCall::MemberCall;

  void allow_uneven_exchanges() override { uneven_ = true; }
  void confirm_counts(Kernels& kernels, const CallCounts& counts) override {
    confirm();
    call().confirm_counts(kernels, counts);
  }

  bool exchanges() const { return state() == State::exchanging; }
  bool is_uneven() const { return uneven_; }

 private:
  bool uneven_ = false;
};

StreamGroup::StreamGroup(StreamCall& call, FiberStacks& stacks, std::span<const GroupTask> tasks)
    : call_(call), members_(call, stacks, tasks) {}
StreamGroup::~StreamGroup() = default;

void StreamGroup::run() {
  members_.run([this] { advance(); });
}

std::vector<StreamGroup::StreamMember*> StreamGroup::next() {
  std::vector<StreamMember*> even;
  StreamMember* alone = nullptr;
  for (StreamMember& member : members_) {
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
  const std::vector<StreamMember*> members = next();
  std::vector<Transfer> transfers;
  for (const StreamMember* member : members)
    transfers.insert(transfers.end(), member->transfers().begin(), member->transfers().end());
  call_.exchange(transfers);
  for (auto transfer = transfers.begin(); const StreamMember* member : members)
    for (Transfer& own : member->transfers()) own.in = (transfer++)->in;
  for (StreamMember* member : members) member->resume();
}

}  // namespace sparsecoll
