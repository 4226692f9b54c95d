// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "collectives/framed_call.hpp"
#include "collectives/link.hpp"
#include "core/fiber.hpp"

namespace sparsecoll {

/// Several verbs in one call.
///
/// Every member runs as it would alone, up to its next exchange. When all have come to one, what
/// they want to send to a peer goes there in one message, and each goes on when what it waits for
/// has come. Members that do the same number of rounds so need the latency of one. A member gets
/// exactly the bytes that it would get alone; hence the results are those of one by one.
///
/// All confirm together: when the last has come to its confirm(), the call as a whole is confirmed,
/// and only then do they write anything. If one fails before, all end there.
class GroupCall {
 public:
  GroupCall(FramedCall& call, Arena& arena);
  ~GroupCall();

  /// Throws what the first member to fail threw; what is thrown after the confirmation does not
  /// keep the others from ending.
  void run(std::span<const GroupMember> members);

 private:
  class Voice;

  void go_on();
  bool all_confirm() const;
  void send();
  /// Gives members what has come in for them; false when nobody can go on.
  bool deliver();
  void wait();
  void sort(int peer, ConstBytes message);
  void finish();
  void give_up() noexcept;

  FramedCall& call_;
  Arena& arena_;
  std::deque<Voice> voices_;  ///< fibers do not move
};

}  // namespace sparsecoll
