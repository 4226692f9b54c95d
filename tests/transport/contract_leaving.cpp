// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: interruption, peers that leave, and the end of a transport.

#include <thread>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using unit::test_message;

/// Waits until the transport knows that `peer` has left.
void wait_until_gone(Transport& transport, int peer) {
  const Clock::time_point limit = Clock::now() + seconds(20);
  while (!transport.gone(peer)) {
    expect(Clock::now() < limit, text("rank ", peer, " has left and is not gone"));
    transport.idle(Clock::now() + milliseconds(20));
  }
}

void no_rank_is_gone(Rank& rank) {
  Transport& transport = rank.transport();
  all_to_all(transport, {3, 1, [](uint64_t number) { return 10 * number; }});
  for (int peer = 0; peer < transport.size(); ++peer)
    expect(!transport.gone(peer), text("rank ", peer, " is gone before it has left"));
  expect(transport.gone_before(0).empty(), "a rank is gone before a call");
  rank.barrier();
}

/// Rank 0 closes its end. Its messages are still received, and messages to it do no harm.
void one_leaves(Rank& rank) {
  Transport& transport = rank.transport();
  const bool leaves = transport.rank() == 0;
  const Payload last = test_message(50, 0, 1), lost = test_message(60, transport.rank(), 2);
  if (!rank.traits().close_is_collective) {
    if (leaves) {
      for (int to = 1; to < transport.size(); ++to) transport.send(to, last);
      flush(transport);
      transport.close();
    } else {
      expect_message(receive(transport), 0, last);
      if (rank.traits().knows_gone) wait_until_gone(transport, 0);
      expect(!transport.poll(), "a message after the last one");
      transport.send(0, lost);
      flush(transport);
    }
  }
  rank.barrier();
  if (!leaves || rank.traits().close_is_collective) transport.close();
}

void gone_before_a_call(Rank& rank) {
  Transport& transport = rank.transport();
  transport.set_completed(3);
  if (transport.rank() == 0) transport.set_completed(4);
  rank.barrier();
  bool touches_caller = true;
  if (transport.rank() == 0) {
    transport.interrupt();
    expect(transport.abandon(&touches_caller) == 0 && !touches_caller, "memory was given up");
  }
  rank.barrier();
  if (transport.rank() > 0) {
    expect(transport.gone_before(4).empty(), "a rank has completed the call and then left");
    const std::vector<int> expected =
        rank.traits().knows_calls ? std::vector<int>{0} : std::vector<int>{};
    expect(transport.gone_before(5) == expected, "not the ranks that left before a call");
  }
  rank.barrier();
  if (transport.rank() > 0) transport.abandon(&touches_caller);
}

void interrupted(Rank& rank) {
  Transport& transport = rank.transport();
  if (rank.traits().real_time) {
    const Clock::time_point start = Clock::now();
    std::thread other([&transport] {
      std::this_thread::sleep_for(milliseconds(30));
      transport.interrupt();
    });
    transport.idle(start + seconds(10));
    other.join();
    expect(Clock::now() - start < seconds(5), "interrupt() does not end idle()");
    transport.idle(Clock::now() + seconds(10));
    expect(Clock::now() - start < seconds(5), "interrupt() does not end later idle()");
  } else {
    transport.interrupt();
  }
  rank.barrier();
  for (int peer = 0; peer < transport.size(); ++peer)
    if (rank.traits().interrupt_leaves && peer != transport.rank())
      expect(transport.gone(peer), text("rank ", peer, " was interrupted and is not gone"));
  rank.barrier();
  bool touches_caller = true;
  transport.abandon(&touches_caller);
}

void abandoned(Rank& rank) {
  Transport& transport = rank.transport();
  all_to_all(transport, {20, 20, [](uint64_t number) { return 10 * number; }});
  rank.barrier();
  bool touches_caller = true;
  const Clock::time_point start = Clock::now();
  expect(transport.abandon(&touches_caller) == 0, "memory was given up that nobody touches");
  expect(!touches_caller, "no message touches the caller's memory");
  expect(Clock::now() - start < seconds(5), "abandon() waits");
  rank.barrier();
}

}  // namespace

std::vector<Case> leaving_cases() {
  return {{"no rank is gone before it has left", no_rank_is_gone},
          {"one rank leaves", one_leaves, true},
          {"ranks that left before a call", gone_before_a_call, true},
          {"interrupt() ends idle(), for good", interrupted, true},
          {"abandon() gives up nothing if nothing is in flight", abandoned, true}};
}

}  // namespace sparsecoll::contract
