// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests properties that only the transport between threads has: sending never waits, messages that
// are handed over are not copied, peers that leave are gone at once, and faults that tests inject.

#include "transport/local.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::unit {
namespace {

using std::chrono::milliseconds;
using Transports = std::vector<std::unique_ptr<Transport>>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST_CASE("sending never waits, and the message is there at once") {
  for (const size_t size : {size_t{0}, size_t{4096}, size_t{20} << 20}) {
    Transports t = make_local_transports(2);
    std::vector<std::byte> message = test_message(size, 0, 1);
    t[0]->send(1, message);
    CHECK(t[0]->unsent() == 0);
    std::fill(message.begin(), message.end(), std::byte{0});  // the sender owns it again
    const auto received = t[1]->poll();
    REQUIRE(received);
    CHECK(received->peer == 0);
    CHECK(same(received->bytes, test_message(size, 0, 1)));
    CHECK_FALSE(t[1]->poll());
    CHECK_FALSE(t[0]->poll());
  }
}

/// Returns a buffer of the sender's pool with a test message.
Buffer packed(Transport& sender, size_t size, uint64_t number) {
  const std::vector<std::byte> bytes = test_message(size, sender.rank(), number);
  Buffer buffer = sender.pool().take(size);
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

TEST_CASE("a message that is handed over is not copied") {
  Transports t = make_local_transports(2);
  Buffer first = packed(*t[0], 1000, 1);
  const std::byte* at = first.data();
  t[0]->hand_over(1, std::move(first));
  t[0]->send(1, test_message(10, 0, 2));
  t[0]->hand_over(1, packed(*t[0], 30, 3));
  CHECK(t[0]->unsent_handed_over() == 0);
  for (const size_t number : {size_t{1}, size_t{2}, size_t{3}}) {
    const auto received = t[1]->poll();
    REQUIRE(received);
    CHECK(received->peer == 0);
    CHECK((number != 1 || received->bytes.data() == at));
    CHECK(same(received->bytes, test_message(number == 1   ? 1000
                                             : number == 2 ? 10
                                                           : 30,
                                             0, number)));
  }
  CHECK_FALSE(t[1]->poll());
}

TEST_CASE("transports end in any order while messages that were handed over are not received") {
  for (int last = 0; last < 3; ++last) {
    Transports t = make_local_transports(3);
    for (auto& from : t)
      for (int to = 0; to < 3; ++to)
        for (uint64_t number = 0; number < 20; ++number)
          from->hand_over(to, packed(*from, test_message_size(number), number));
    std::swap(t[static_cast<size_t>(last)], t[2]);
    while (!t.empty()) t.pop_back();
  }
}

/// Rank 0 sends two messages, of which the first is delayed, and rank 1 one. Returns what is wrong.
std::string receive_delayed(int delay_ms) {
  Transports t = make_local_transports(3, [delay_ms](int from, int, size_t number) {
    MessageFault fault;
    if (from == 0 && number == 0) fault.delay = milliseconds(delay_ms);
    return fault;
  });
  const Clock::time_point start = Clock::now();
  t[0]->send(2, test_message(10, 0, 0));
  t[0]->send(2, test_message(10, 0, 1));
  t[1]->send(2, test_message(10, 1, 0));
  const auto first = t[2]->poll();
  auto second = t[2]->poll();
  if (seconds_since(start) >= delay_ms / 1000.0) return "polled too late";
  if (!first || first->peer != 1) return "not the message of the other sender";
  if (second) return "the message was not held back";
  while (!second && seconds_since(start) < delay_ms / 1000.0 + 10) {
    t[2]->idle(Clock::now() + milliseconds(20));
    second = t[2]->poll();
  }
  if (!second) return "nothing came";
  if (seconds_since(start) < delay_ms / 1000.0) return "it came early";
  const auto third = t[2]->poll();
  if (!third) return "nothing came after it";
  return same(second->bytes, test_message(10, 0, 0)) && same(third->bytes, test_message(10, 0, 1))
             ? ""
             : "wrong messages";
}

TEST_CASE("a delayed message delays later ones of its sender, but not those of others") {
  CHECK(test::with_longer_deadlines(80, receive_delayed) == "");
}

TEST_CASE("a dropped message is lost, a damaged one has one inverted byte") {
  Transports t = make_local_transports(2, [](int, int, size_t number) {
    MessageFault fault;
    fault.drop = number == 0;
    if (number == 1) fault.corrupt_byte = 13;  // taken modulo the size, 10
    return fault;
  });
  for (uint64_t number = 0; number < 3; ++number) t[0]->send(1, test_message(10, 0, number));
  auto damaged = t[1]->poll();
  REQUIRE(damaged);
  CHECK_FALSE(same(damaged->bytes, test_message(10, 0, 1)));
  damaged->bytes.data()[3] ^= std::byte{0xff};
  CHECK(same(damaged->bytes, test_message(10, 0, 1)));
  const auto sound = t[1]->poll();
  REQUIRE(sound);
  CHECK(same(sound->bytes, test_message(10, 0, 2)));
}

TEST_CASE("a killed rank sends nothing more, and its own poll() throws") {
  Transports t = make_local_transports(3, [](int from, int, size_t number) {
    MessageFault fault;
    fault.kill_sender = from == 1 && number == 1;
    return fault;
  });
  t[1]->send(0, test_message(5, 1, 0));
  t[1]->send(0, test_message(5, 1, 1));
  t[1]->send(2, test_message(5, 1, 2));
  try {
    t[1]->poll();
    FAIL("a killed rank went on");
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollSystemError);
  }
  bool touches = true;
  CHECK(t[1]->abandon(&touches) == 0);
  CHECK_FALSE(touches);
  t[1].reset();
  CHECK(t[0]->poll());
  CHECK_FALSE(t[0]->poll());
  CHECK_FALSE(t[2]->poll());
  CHECK_FALSE(t[0]->gone(1));
  t[0]->send(1, test_message(100, 0, 0));  // rank 1 has left; no harm
}

TEST_CASE("a rank that leaves is not gone before its delayed messages are received") {
  Transports t = make_local_transports(2, [](int, int, size_t) {
    MessageFault fault;
    fault.delay = milliseconds(50);
    return fault;
  });
  t[0]->send(1, test_message(50, 0, 0));
  t[0]->close();
  const Clock::time_point start = Clock::now();
  while (!t[1]->poll()) {
    CHECK_FALSE(t[1]->gone(0));
    REQUIRE(seconds_since(start) < 60);
  }
  CHECK(t[1]->gone(0));
}

TEST_CASE(
    "a rank that leaves is gone at once; its messages are received, those to it are dropped") {
  for (const int way : {0, 1, 2, 3}) {
    Transports t = make_local_transports(2);
    t[0]->send(1, test_message(50, 0, 0));
    CHECK_FALSE(t[1]->gone(0));
    bool touches = true;
    if (way == 0) t[0]->close();
    if (way == 1) t[0]->interrupt();
    if (way == 2) CHECK(t[0]->abandon(&touches) == 0);
    if (way == 3) t[0].reset();
    CHECK(t[1]->gone(0));
    CHECK_FALSE(t[1]->gone(1));
    const auto last = t[1]->poll();
    REQUIRE(last);
    CHECK(same(last->bytes, test_message(50, 0, 0)));
    CHECK_FALSE(t[1]->poll());
    t[1]->send(0, test_message(50, 1, 0));
    CHECK(t[1]->unsent() == 0);
  }
}

/// Calls idle() with a limit of ten seconds and lets `event` happen after 50 ms. Returns the
/// seconds that idle() takes.
template <class Event>
double idle_seconds(Transport& transport, Event event) {
  CHECK_FALSE(transport.poll());
  const Clock::time_point start = Clock::now();
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(50));
    event();
  });
  transport.idle(start + std::chrono::seconds(10));
  other.join();
  return seconds_since(start);
}

TEST_CASE("idle() ends with a message, when a peer leaves, when interrupted, and at its limit") {
  Transports t = make_local_transports(3);
  CHECK(idle_seconds(*t[0], [&] { t[1]->send(0, test_message(3, 1, 0)); }) < 5);
  CHECK(t[0]->poll());
  CHECK(idle_seconds(*t[0], [&] { t[1]->close(); }) < 5);
  CHECK_FALSE(t[0]->poll());
  const Clock::time_point start = Clock::now();
  t[0]->idle(start + milliseconds(60));
  CHECK(seconds_since(start) >= 0.06);
  CHECK(seconds_since(start) < 5);
  CHECK(idle_seconds(*t[0], [&] { t[0]->interrupt(); }) < 5);
  const Clock::time_point later = Clock::now();
  t[0]->idle(later + std::chrono::seconds(10));  // the interruption is permanent
  CHECK(seconds_since(later) < 5);
  CHECK(t[2]->gone(0));
}

TEST_CASE("a message is in a buffer of the receiver's pool") {
  Transports t = make_local_transports(2);
  for (uint64_t i = 0; i < 100; ++i) {
    t[0]->send(1, test_message(1000, 0, i));
    const auto received = t[1]->poll();
    REQUIRE(received);
  }
  CHECK(t[1]->memory().allocations() == 1);
  CHECK(t[0]->memory().allocations() == 0);
}

}  // namespace
}  // namespace sparsecoll::unit
