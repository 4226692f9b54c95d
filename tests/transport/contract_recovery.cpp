// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: the transport on which ranks find each other after a failure.

#include <deque>
#include <thread>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using unit::test_message;

const Traffic kFewMessages{5, 2, [](uint64_t number) { return 10 * number; }};

/// Returns the recovery; null if the transport has none, as its traits say.
std::unique_ptr<Transport> recovery_of(Rank& rank) {
  auto made = rank.transport().recovery();
  expect((made != nullptr) == rank.traits().recovers, "the traits differ: is there a recovery?");
  if (!made) return made;
  expect(made->rank() == rank.transport().rank(), text("rank ", made->rank()));
  expect(made->size() == rank.transport().size(), text("size ", made->size()));
  return made;
}

/// Ends it when all ranks have received what they wait for.
void end(Rank& rank, std::unique_ptr<Transport>& recovery) {
  flush(*recovery);
  rank.barrier();
  expect(!recovery->poll(), "more messages were received than sent");
  rank.barrier();
  bool touches_caller = true;
  recovery->abandon(&touches_caller);
  recovery.reset();
}

/// Messages of the transport that are neither sent completely nor received.
class Waiting {
 public:
  Waiting(Rank& rank, const std::vector<size_t>& sizes) : rank_(rank) {
    Transport& transport = rank.transport();
    for (const size_t bytes : sizes) {
      messages_.push_back(test_message(bytes, transport.rank(), messages_.size()));
      for (int to = 0; to < transport.size(); ++to) transport.send(to, messages_.back());
    }
  }
  /// Receives those of all ranks.
  void receive_all() {
    Transport& transport = rank_.transport();
    std::vector<size_t> next(static_cast<size_t>(transport.size()));
    for (size_t left = next.size() * messages_.size(); left > 0; --left) {
      const ReceivedMessage message = receive(transport);
      size_t& number = next[static_cast<size_t>(message.peer)];
      expect(number < messages_.size(), "more messages than were sent");
      expect_message(message, message.peer,
                     test_message(messages_[number].size(), message.peer, number));
      ++number;
    }
    flush(transport);
  }

 private:
  Rank& rank_;
  std::deque<Payload> messages_;  // they live until they are sent
};

/// Neither gets messages of the other, and the recovery does not wait for the transport.
void messages_do_not_mix(Rank& rank) {
  if (!rank.traits().recovers) return;
  Waiting waiting(rank, {100, rank.traits().large, 7});
  auto recovery = recovery_of(rank);
  all_to_all(*recovery, kFewMessages);
  rank.barrier();
  expect(!recovery->poll(), "the recovery has received a message of the transport");
  rank.barrier();  // before others send again
  waiting.receive_all();
  all_to_all(*recovery, kFewMessages);
  all_to_all(rank.transport(), kFewMessages);
  end(rank, recovery);
}

/// A peer sends before this rank has made its end.
void peers_send_before(Rank& rank) {
  std::unique_ptr<Transport> recovery;
  const Payload first = test_message(30, 0, 1);
  if (rank.transport().rank() == 0) {
    recovery = recovery_of(rank);
    for (int to = 1; recovery && to < recovery->size(); ++to) recovery->send(to, first);
  }
  rank.barrier();
  expect(!rank.transport().poll(), "the transport has received a message of the recovery");
  rank.barrier();
  if (rank.transport().rank() != 0) {
    recovery = recovery_of(rank);
    if (recovery) expect_message(receive(*recovery), 0, first);
  }
  if (recovery) end(rank, recovery);
}

/// The transport was interrupted and abandoned, with messages on their way. They are short, since
/// MPI may not end before it has delivered a long one.
void after_abandon(Rank& rank) {
  Waiting waiting(rank, {7});
  rank.barrier();
  bool touches_caller = true;
  rank.transport().interrupt();
  rank.transport().abandon(&touches_caller);
  if (auto recovery = recovery_of(rank)) {
    all_to_all(*recovery, kFewMessages);
    end(rank, recovery);
  }
  rank.barrier();
  rank.destroy();  // before the messages
}

/// Rank 0 leaves without a word.
void one_is_gone(Rank& rank) {
  const bool leaves = rank.transport().rank() == 0;
  auto recovery = leaves ? nullptr : recovery_of(rank);
  rank.barrier();
  if (leaves) rank.destroy();
  rank.barrier();
  if (!recovery) return;
  const Clock::time_point limit = Clock::now() + seconds(20);
  while (rank.traits().recovery_knows_gone && !recovery->gone(0)) {
    expect(Clock::now() < limit, "rank 0 has left and is not gone");
    recovery->idle(Clock::now() + milliseconds(20));
  }
  for (int peer = 1; peer < recovery->size(); ++peer)
    expect(!recovery->gone(peer), text("rank ", peer, " is gone"));
  // The others still hear from each other.
  const Payload message = test_message(40, recovery->rank(), 1);
  for (int to = 1; to < recovery->size(); ++to) recovery->send(to, message);
  std::vector<bool> heard(static_cast<size_t>(recovery->size()));
  for (int left = recovery->size() - 1; left > 0; --left) {
    const ReceivedMessage got = receive(*recovery);
    expect_message(got, got.peer, test_message(40, got.peer, 1));
    expect(!heard[static_cast<size_t>(got.peer)], "a message came twice");
    heard[static_cast<size_t>(got.peer)] = true;
  }
  flush(*recovery);
}

/// The waits of a recovery end by their limit, and by an interrupt of it.
void waits_end(Rank& rank) {
  auto recovery = recovery_of(rank);
  rank.barrier();
  if (recovery && rank.traits().real_time) {
    const Clock::time_point start = Clock::now();
    recovery->idle(start + milliseconds(50));
    expect(Clock::now() - start < seconds(5), "idle() does not end");
    std::thread other([&recovery] {
      std::this_thread::sleep_for(milliseconds(30));
      recovery->interrupt();
    });
    recovery->idle(Clock::now() + seconds(10));
    other.join();
    expect(Clock::now() - start < seconds(5), "interrupt() does not end idle()");
  }
  rank.barrier();
  if (!recovery) return;
  bool touches_caller = true;
  expect(recovery->abandon(&touches_caller) == 0 && !touches_caller, "memory was given up");
  recovery.reset();
  all_to_all(rank.transport(), kFewMessages);  // which knows nothing of it
}

}  // namespace

std::vector<Case> recovery_cases() {
  return {{"messages of a recovery and of its transport do not mix", messages_do_not_mix},
          {"peers send on a recovery before this rank has it", peers_send_before},
          {"a recovery works after abandon()", after_abandon, true},
          {"a recovery works when one rank is gone", one_is_gone, true},
          {"the waits of a recovery end", waits_end}};
}

}  // namespace sparsecoll::contract
