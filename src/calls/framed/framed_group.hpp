// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/framed/framed_call.hpp"
#include "calls/member_call.hpp"

namespace sparsecoll {

/// Runs several verbs as one call.
///
/// Every verb runs up to its next exchange. Then one message to each peer carries the data of all
/// verbs, and each verb continues when its messages have arrived. So verbs with equally many
/// exchanges need the latency of one verb. A verb receives exactly the bytes that it would receive
/// alone; hence the results are the same as if the verbs ran one after another.
class FramedGroup {
 public:
  /// All arguments outlive this object.
  FramedGroup(FramedCall& call, Arena& arena, FiberStacks& stacks,
              std::span<const GroupTask> tasks);
  ~FramedGroup();

  /// See MemberCalls::run().
  void run();

 private:
  class FramedMember;

  /// Sends the messages of all verbs that have come to an exchange.
  void send();
  /// Resumes the verbs whose messages have all arrived. Returns false if there is no such verb.
  bool deliver();
  /// Waits for messages and distributes them to the verbs.
  void wait();
  /// Distributes the parts of one message to the verbs. Throws RemoteError if it is malformed.
  void distribute(int peer, ConstBytes message);

  FramedCall& call_;
  Arena& arena_;
  MemberCalls<FramedMember> members_;
};

}  // namespace sparsecoll
