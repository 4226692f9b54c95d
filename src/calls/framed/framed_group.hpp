// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/framed/framed_call.hpp"
#include "calls/group_member.hpp"

namespace sparsecoll {

/// Several verbs in one call.
///
/// Every member runs as it would alone, up to its next exchange. When all have come to one, what
/// they want to send to a peer goes there in one message, and each goes on when what it waits for
/// has come. Members that do the same number of rounds so need the latency of one. A member gets
/// exactly the bytes that it would get alone; hence the results are those of one by one.
class FramedGroup {
 public:
  /// All of that outlives it.
  FramedGroup(FramedCall& call, Arena& arena, FiberStacks& stacks,
              std::span<const GroupTask> members);
  ~FramedGroup();

  /// Confirms and ends as MemberCalls::run() says.
  void run();

 private:
  class FramedMember;

  void send();
  /// Gives members what has come in for them; false when nobody can go on.
  bool deliver();
  void wait();
  void sort(int peer, ConstBytes message);

  FramedCall& call_;
  Arena& arena_;
  MemberCalls<FramedMember> members_;
};

}  // namespace sparsecoll
