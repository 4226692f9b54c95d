// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/group_member.hpp"
#include "calls/stream/stream_call.hpp"

namespace sparsecoll {

/// Several verbs in one call in stream order.
///
/// Every member runs as it would alone, up to its next exchange. What all of them exchange then is
/// one exchange, member after member: it takes as many launches of NCCL as that of one, and one
/// wait for all sizes that are sent. NCCL matches messages by their order only. That is the same at
/// both ends because the exchanges of a call are as many on all ranks, and so all members that
/// start after another start at the same exchange; members that said otherwise (Call::uneven())
/// have theirs when no other has any, one of these members after another. Every member gets exactly
/// the bytes that it would get alone; hence the results are those of one by one.
class StreamGroup {
 public:
  /// All of that outlives it.
  StreamGroup(StreamCall& call, FiberStacks& stacks, std::span<const GroupTask> members);
  ~StreamGroup();

  /// Confirms and ends as MemberCalls::run() says.
  void run();

 private:
  class StreamMember;

  void advance();
  /// Who exchanges next.
  std::vector<StreamMember*> next();

  StreamCall& call_;
  MemberCalls<StreamMember> members_;
};

}  // namespace sparsecoll
