// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: ranks, and messages that are sent in one piece.

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using unit::test_message;

void identity(Rank& rank) {
  Transport& transport = rank.transport();
  const auto P = static_cast<size_t>(transport.size());
  const std::vector<uint64_t> ranks = rank.allgather(static_cast<uint64_t>(transport.rank()));
  expect(ranks.size() == P, "not the size");
  for (size_t r = 0; r < P; ++r) expect(ranks[r] == r, "not the ranks in order");
  std::vector<uint64_t> world = rank.allgather(static_cast<uint64_t>(transport.world_rank()));
  std::sort(world.begin(), world.end());
  expect(std::adjacent_find(world.begin(), world.end()) == world.end(), "a world rank twice");
  const CpuShare share = transport.cpu_share();
  expect(share.index < share.ranks, "a rank is not among those that share its CPUs");
  expect(transport.node() == transport.node(), "the node changes");
  expect(transport.close_is_collective() == rank.traits().close_is_collective, "close()");
  expect(!transport.gone(transport.rank()), "a rank is gone for itself");
  const uint64_t node = transport.node();
  const std::vector<uint64_t> nodes = rank.allgather(node);
  const bool shares = transport.shares_memory(transport.rank());
  for (size_t r = 0; r < P; ++r)
    expect(transport.shares_memory(static_cast<int>(r)) == (shares && nodes[r] == node),
           "memory is shared with another node, or not on this one");
  transport.check_thread();
  const double before = transport.seconds();
  expect(transport.seconds() >= before, "time runs backwards");
  expect(transport.pool().take(100).size() == 100, "a buffer of another size");
}

/// Sends around a ring. Each rank overwrites its message once unsent() is 0.
void every_size(Rank& rank) {
  Transport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  const int to = (me + 1) % P, from = (me + P - 1) % P;
  uint64_t number = 0;
  for (const size_t size : rank.traits().sizes) {
    Payload message = test_message(size, me, ++number);
    transport.send(to, message);
    std::optional<ReceivedMessage> received;
    const Clock::time_point limit = Clock::now() + seconds(20);
    for (bool sent = false; !sent || !received;) {
      expect(Clock::now() < limit, text("a message of ", size, " bytes was not transferred"));
      if (!received) received = transport.poll();
      if (!sent && transport.unsent() == 0) {
        std::fill(message.begin(), message.end(), std::byte{0});
        sent = true;
      }
      if (!sent || !received) transport.idle(Clock::now() + milliseconds(1));
    }
    expect_message(*received, from, test_message(size, from, number));
  }
}

void one_by_one(Rank& rank) {
  const std::vector<size_t>& sizes = rank.traits().sizes;
  all_to_all(rank.transport(),
             {3 * sizes.size(), 1, [&](uint64_t number) { return sizes[number % sizes.size()]; }});
}

void all_at_once(Rank& rank) {
  const std::vector<size_t>& sizes = rank.traits().sizes;
  all_to_all(rank.transport(), {2 * sizes.size(), 2 * sizes.size(),
                                [&](uint64_t number) { return sizes[number % sizes.size()]; }});
}

/// Returns sizes that vary from empty to large.
auto mixed_sizes(const Rank& rank) {
  return [most = rank.traits().large](uint64_t number) {
    return std::min(unit::test_message_size(number), most);
  };
}

void many(Rank& rank) { all_to_all(rank.transport(), {600, 600, mixed_sizes(rank)}); }

void many_in_turn(Rank& rank) { all_to_all(rank.transport(), {300, 1, mixed_sizes(rank)}); }

void empty(Rank& rank) {
  all_to_all(rank.transport(), {100, 100, [](uint64_t) { return size_t{0}; }});
}

void large(Rank& rank) {
  const size_t bytes = rank.traits().large;
  all_to_all(rank.transport(), {6, 6, [bytes](uint64_t) { return bytes; }});
}

/// Each round holds the same number of received messages, so only the first one allocates.
void pool_is_used_again(Rank& rank) {
  Transport& transport = rank.transport();
  const Payload message = test_message(90, transport.rank(), 1);
  size_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    for (int to = 0; to < transport.size(); ++to) transport.send(to, message);
    std::vector<ReceivedMessage> held;
    while (held.size() < static_cast<size_t>(transport.size())) held.push_back(receive(transport));
    flush(transport);
    if (round == 0) after_first = transport.memory().allocations();
    held.clear();
    rank.barrier();  // no rank sends the next round before all have returned their buffers
  }
  expect(after_first > 0, "messages are not in the transport's memory");
  expect(transport.memory().allocations() == after_first, "buffers are not used again");
}

void handed_over(Rank& rank) {
  Transport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  const int to = (me + 1) % P, from = (me + P - 1) % P;
  const size_t most = rank.traits().large;
  const size_t sizes[] = {std::min(most, size_t{1000}), 10, 30, 0, std::min(most, size_t{70000})};
  std::vector<Payload> messages;
  for (uint64_t number = 0; number < 5; ++number)
    messages.push_back(test_message(sizes[number], me, number));
  for (size_t number = 0; number < 5; ++number) {
    if (number % 2 == 1)
      transport.send(to, messages[number]);
    else
      transport.hand_over(to, in_pool(transport, messages[number]));
  }
  for (uint64_t number = 0; number < 5; ++number)
    expect_message(receive(transport), from, test_message(sizes[number], from, number));
  flush(transport);  // the messages that were sent belong to this rank until then
}

void nothing_to_receive(Rank& rank) {
  Transport& transport = rank.transport();
  for (int i = 0; i < 100; ++i) expect(!transport.poll(), "a message that nobody sent");
  expect(transport.unsent() == 0 && transport.unsent_handed_over() == 0, "something is unsent");
  if (!rank.traits().real_time) return;
  const Clock::time_point start = Clock::now();
  transport.idle(start - milliseconds(1));
  transport.idle(start + milliseconds(20));
  expect(Clock::now() - start < seconds(5), "idle() ignores its limit");
}

/// Rank 0 is idle when the message is sent.
void idle_ends_with_a_message(Rank& rank) {
  Transport& transport = rank.transport();
  if (!rank.traits().real_time || transport.size() == 1) return;
  const Payload message = test_message(3, 1, 0);
  const Clock::time_point start = Clock::now();
  if (transport.rank() == 1) {
    std::this_thread::sleep_for(milliseconds(50));
    transport.send(0, message);
    flush(transport);
  } else if (transport.rank() == 0) {
    std::optional<ReceivedMessage> received;
    while (!(received = transport.poll())) transport.idle(start + seconds(10));
    expect(Clock::now() - start < seconds(5), "idle() does not end with a message");
    expect_message(*received, 1, message);
  }
}

}  // namespace

std::vector<Case> message_cases() {
  return {{"ranks know who they are", identity},
          {"a message of every size is received as it was sent", every_size},
          {"messages of every size, one by one, in the order of each sender", one_by_one},
          {"messages of every size at once, in the order of each sender", all_at_once},
          {"many messages in flight", many},
          {"many messages in turn", many_in_turn},
          {"empty messages", empty},
          {"large messages", large},
          {"buffers of received messages are used again", pool_is_used_again},
          {"messages that are handed over keep the order", handed_over},
          {"nothing is received if nothing was sent", nothing_to_receive},
          {"idle() ends with a message", idle_ends_with_a_message}};
}

}  // namespace sparsecoll::contract
