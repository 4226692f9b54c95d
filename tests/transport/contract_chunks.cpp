// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: messages that are sent in chunks, some of which are cancelled.

#include <algorithm>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {
namespace {

using unit::test_message;

/// Sends one open message to each rank; their chunks alternate.
void in_chunks(Rank& rank) {
  Transport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  const size_t bytes = std::min(rank.traits().large, size_t{70000});
  const size_t cuts[] = {0, 1, 47, 48, bytes / 2, bytes - 1, bytes};
  const Payload message = test_message(bytes, me, 1);
  for (int to = 0; to < P; ++to) transport.open(to, bytes);
  for (size_t i = 0; i + 1 < std::size(cuts); ++i)
    for (int to = 0; to < P; ++to)
      transport.send_chunk(to, ConstBytes(message).subspan(cuts[i], cuts[i + 1] - cuts[i]));
  for (int i = 0; i < P; ++i) {
    const ReceivedMessage received = receive(transport);
    expect_message(received, received.peer, test_message(bytes, received.peer, 1));
  }
  flush(transport);
}

void not_before_the_last(Rank& rank) {
  Transport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  const int to = (me + 1) % P, from = (me + P - 1) % P;
  const Payload message = test_message(200, me, 2);
  transport.open(to, message.size());
  transport.send_chunk(to, ConstBytes(message).first(199));
  rank.barrier();
  for (int i = 0; i < 100; ++i) expect(!transport.poll(), "a message without its last chunk");
  rank.barrier();
  transport.send_chunk(to, ConstBytes(message).subspan(199));
  expect_message(receive(transport), from, test_message(200, from, 2));
  flush(transport);
}

/// Cancels messages before the first chunk and after it, by each way to send another message.
void cancelled(Rank& rank) {
  Transport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  const int to = (me + 1) % P, from = (me + P - 1) % P;
  const Payload kept = test_message(100, me, 1), last = test_message(3, me, 2),
                owned = test_message(9, me, 3), lost(30);
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    transport.open(to, 100);
    transport.open(to, 50);
    transport.send_chunk(to, lost);
    transport.open(to, kept.size());
    transport.send_chunk(to, ConstBytes(kept).first(47));
    transport.send_chunk(to, ConstBytes(kept).subspan(47));
    transport.open(to, 31);
    transport.send_chunk(to, lost);
    transport.send(to, last);
    transport.open(to, 31);
    transport.send_chunk(to, lost);
    transport.hand_over(to, in_pool(transport, owned));
  }
  for (int round = 0; round < kRounds; ++round) {
    expect_message(receive(transport), from, test_message(100, from, 1));
    expect_message(receive(transport), from, test_message(3, from, 2));
    expect_message(receive(transport), from, test_message(9, from, 3));
  }
  flush(transport);
}

}  // namespace

std::vector<Case> chunk_cases() {
  return {{"messages in chunks, several open at once", in_chunks},
          {"a message is received after its last chunk", not_before_the_last},
          {"a message that is cancelled is never received", cancelled}};
}

}  // namespace sparsecoll::contract
