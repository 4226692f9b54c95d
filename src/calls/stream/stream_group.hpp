// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/member_call.hpp"
#include "calls/stream/stream_call.hpp"

namespace sparsecoll {

/// Runs several verbs as one call in stream order.
///
/// Every verb runs up to its next exchange. Then one exchange carries the messages of all verbs, in
/// the order of the verbs: it takes as many launches of NCCL as that of one verb, and one wait for
/// all sizes. A verb receives exactly the bytes that it would receive alone; hence the results are
/// the same as if the verbs ran one after another.
///
/// NCCL matches messages by their order only, which must be the same at both ends. It is, because a
/// verb makes the same number of exchanges on all ranks, so that a verb that starts after another
/// one starts at the same exchange everywhere. Verbs that allowed uneven exchanges run when no
/// other verb has an exchange, one verb after the other.
class StreamGroup {
 public:
  /// All arguments outlive this object.
  StreamGroup(StreamCall& call, FiberStacks& stacks, std::span<const GroupTask> tasks);
  ~StreamGroup();

  /// See MemberCalls::run().
  void run();

 private:
  class StreamMember;

  /// Makes one exchange and resumes its verbs.
  void advance();
  /// Returns the verbs whose messages the next exchange carries.
  std::vector<StreamMember*> next();

  StreamCall& call_;
  MemberCalls<StreamMember> members_;
};

}  // namespace sparsecoll
