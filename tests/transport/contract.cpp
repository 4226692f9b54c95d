// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/contract.hpp"

#include <deque>
#include <stdexcept>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {

using unit::test_message;

namespace {

constexpr std::chrono::seconds kLimit{20};
constexpr std::chrono::milliseconds kIdle{20};

/// Checks that the transport has nothing more to receive, and closes it.
void finish(Rank& rank) {
  Transport& transport = rank.transport();
  flush(transport);
  rank.barrier();
  expect(!transport.poll(), "more messages were received than sent");
  rank.barrier();
  transport.close();
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& some :
       {message_cases(), chunk_cases(), leaving_cases(), split_cases(), recovery_cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string run(const Case& which, Rank& rank) {
  try {
    which.run(rank);
    if (!which.ends_transport) finish(rank);
    return "";
  } catch (const std::exception& error) {
    return text(which.name, ": ", error.what());
  }
}

void expect(bool good, const std::string& text) {
  if (!good) throw std::runtime_error(text);
}

void expect_message(const ReceivedMessage& message, int peer, const Payload& bytes) {
  expect(message.peer == peer, text("message from rank ", message.peer, ", expected ", peer));
  expect(message.bytes.size() == bytes.size() && unit::same(message.bytes, bytes),
         text("message of ", message.bytes.size(), " bytes from rank ", peer,
              ", expected other bytes, ", bytes.size(), " in number"));
}

ReceivedMessage receive(Transport& transport) {
  const Clock::time_point limit = Clock::now() + kLimit;
  for (;;) {
    if (auto message = transport.poll()) return std::move(*message);
    expect(Clock::now() < limit, "no message was received");
    transport.idle(Clock::now() + kIdle);
  }
}

void flush(Transport& transport) {
  const Clock::time_point limit = Clock::now() + kLimit;
  while (transport.unsent() > 0 || transport.unsent_handed_over() > 0) {
    expect(Clock::now() < limit, "messages were not sent");
    transport.idle(Clock::now());
  }
  for (int peer = 0; peer < transport.size(); ++peer)
    expect(transport.unsent_to(peer) == 0, "all is sent, but not to each peer");
}

Buffer in_pool(Transport& transport, const Payload& bytes) {
  Buffer buffer = transport.pool().take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

void all_to_all(Transport& transport, const Traffic& traffic) {
  const auto P = static_cast<uint64_t>(transport.size());
  std::deque<Payload> messages;  // they live until they are sent
  std::vector<uint64_t> next(P);
  uint64_t sent = 0;
  for (uint64_t missing = traffic.count * P; missing > 0;) {
    for (uint64_t i = 0; i < traffic.burst && sent < traffic.count; ++i, ++sent) {
      for (uint64_t to = 0; to < P; ++to) {
        messages.push_back(test_message(traffic.size(sent), transport.rank(), sent));
        transport.send(static_cast<int>(to), messages.back());
      }
    }
    const auto take = [&](const ReceivedMessage& message) {
      uint64_t& number = next[static_cast<size_t>(message.peer)];
      expect_message(message, message.peer,
                     test_message(traffic.size(number), message.peer, number));
      ++number;
      --missing;
    };
    if (sent == traffic.count) take(receive(transport));
    while (const auto message = transport.poll()) take(*message);
  }
  flush(transport);
}

}  // namespace sparsecoll::contract
