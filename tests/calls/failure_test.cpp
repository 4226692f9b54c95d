// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// What a call says when something below it fails: ranks that do not come or go, frames that are
// lost, old, damaged or too long, an abort.

#include <chrono>
#include <cstddef>
#include <thread>

#include "calls/station.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

constexpr int kNobody = Station::kNobody;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rank 0 waits for one frame of rank 1 in its call 1.
void hear_of_rank_1(Station& s, size_t in_bound = kUnknownSize) {
  s.call(call_with_k(7), [&](FramedCall& framed) { s.exchange(framed, kNobody, "", 1, in_bound); });
}

/// Rank 1 sends one frame of its next call.
void send_to_rank_0(Station& s, const std::string& message = "hello") {
  s.call(call_with_k(7), [&](FramedCall& framed) { s.exchange(framed, 0, message, kNobody); });
}

TEST_CASE("a deadline names the ranks that were not heard from") {
  Stations stations(4, 150);
  CHECK(stations.run([](Station& s) -> std::string {
    const Clock::time_point start = Clock::now();
    if (s.rank() == 1 || s.rank() == 3) return "";
    const std::string verdict =
        expect_error(sparsecollTimeout, "nothing was heard from ranks 1 and 3", [&] {
          s.call(call_with_k(7), [&](FramedCall& framed) {
            Transfer transfers[3];
            for (int i = 0; i < 3; ++i)
              transfers[i] = {i < s.rank() ? i : i + 1, {}, kUnknownSize, {}};
            s.exchange(framed, 2 - s.rank(), "hello", kNobody);
            framed.exchange(transfers);
          });
        });
    if (seconds_since(start) < 0.15) return "the deadline was not waited for";
    return seconds_since(start) < 1.15 ? verdict : "the deadline was missed";
  }) == "");
}

TEST_CASE("a rank that has gone is told from one that is late, after what it sent") {
  Stations stations(2);
  send_to_rank_0(stations[1]);
  stations[1].transport().close();
  hear_of_rank_1(stations[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 has destroyed or aborted",
                     [&] { hear_of_rank_1(stations[0]); }) == "");
}

TEST_CASE("a rank that fails tells why, also those who do not wait for it") {
  for (const std::string& why : {std::string("its disk is full"), std::string(100000, 'x')}) {
    Stations stations(3);
    stations[2].channel().begin(1);
    stations[2].channel().send_fatal(Error(sparsecollInternalError, why));
    CHECK(expect_error(sparsecollRemoteError, "rank 2 failed in call 1: " + why.substr(0, 500),
                       [&] { hear_of_rank_1(stations[0]); }) == "");
  }
}

TEST_CASE("a call that a peer has done goes on when that peer fails in a later one") {
  const Error why(sparsecollInternalError, "its disk is full");
  Stations stations(3);
  stations[2].channel().begin(2);
  stations[2].channel().send_fatal(why);
  send_to_rank_0(stations[1]);
  hear_of_rank_1(stations[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 2 failed in call 2",
                     [&] { hear_of_rank_1(stations[0]); }) == "");

  // The rank that failed is the one that is waited for.
  Stations two(2);
  send_to_rank_0(two[1]);
  two[1].channel().end();  // of call 1: what fails now is the next
  two[1].channel().send_fatal(why);
  two[1].transport().close();
  hear_of_rank_1(two[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 failed in call 2",
                     [&] { hear_of_rank_1(two[0]); }) == "");
}

TEST_CASE("an abort from another thread ends a wait within a second") {
  Stations stations(2);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stations[0].channel().abort();
  });
  const Clock::time_point start = Clock::now();
  CHECK(expect_error(sparsecollInvalidUsage, "abort", [&] { hear_of_rank_1(stations[0]); }) == "");
  other.join();
  CHECK(seconds_since(start) < 1.05);
  CHECK(stations[0].channel().aborted());
  CHECK(expect_error(sparsecollRemoteError, "rank 0 has destroyed or aborted", [&] {
          stations[1].call(call_with_k(7), [&](FramedCall& framed) {
            stations[1].exchange(framed, kNobody, "", 0);
          });
        }) == "");
}

TEST_CASE("a lost frame is noticed by the number of the next") {
  Stations stations(2, 200, [](int, int, size_t number) {
    MessageFault fault;
    fault.drop = number == 1;
    return fault;
  });
  for (int call = 0; call < 3; ++call) send_to_rank_0(stations[1]);
  // It comes in together with those before it, and nothing after it can be trusted.
  CHECK(expect_error(sparsecollRemoteError,
                     "messages of rank 1 were lost: expected number 1, got 2",
                     [&] { hear_of_rank_1(stations[0]); }) == "");
}

TEST_CASE("the last frame lost is noticed by the deadline") {
  Stations stations(2, 100, [](int, int, size_t number) {
    MessageFault fault;
    fault.drop = number == 1;
    return fault;
  });
  for (int call = 0; call < 2; ++call) send_to_rank_0(stations[1]);
  hear_of_rank_1(stations[0]);
  CHECK(expect_error(sparsecollTimeout, "rank 1", [&] { hear_of_rank_1(stations[0]); }) == "");
}

TEST_CASE("a frame of an earlier call is refused") {
  Stations stations(2, 200);
  stations[0].skip_call();
  send_to_rank_0(stations[1]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 sent a message of call 1 during call 2",
                     [&] { hear_of_rank_1(stations[0]); }) == "");
}

TEST_CASE("a frame of a later call is not taken for one of this call") {
  Stations stations(2, 200);
  stations[1].skip_call();
  send_to_rank_0(stations[1]);
  bool refused = false;
  try {
    hear_of_rank_1(stations[0]);
  } catch (const Error& error) {
    refused = error.code() == sparsecollRemoteError || error.code() == sparsecollTimeout;
  }
  CHECK(refused);
}

TEST_CASE("a frame longer than its bound is refused") {
  Stations stations(2);
  send_to_rank_0(stations[1], "12345678");
  hear_of_rank_1(stations[0], 8);
  send_to_rank_0(stations[1], "123456789");
  CHECK(expect_error(sparsecollRemoteError, "rank 1 sent 9 bytes where at most 8 were expected",
                     [&] { hear_of_rank_1(stations[0], 8); }) == "");
}

/// What rank 0 makes of a frame of rank 1 of which byte `at` was inverted on its way.
std::string with_damage(size_t at, bool verify, const std::string& words) {
  const auto invert = [at](int, int, size_t) {
    MessageFault fault;
    fault.corrupt_byte = at;
    return fault;
  };
  Stations stations(2, 200, invert, verify);
  send_to_rank_0(stations[1]);
  return expect_error(sparsecollRemoteError, words, [&] { hear_of_rank_1(stations[0]); });
}

TEST_CASE("every byte of a frame is covered by its checksum") {
  for (size_t at = 0; at < sizeof(FrameHeader) + 5; ++at) {
    INFO("byte " << at);
    CHECK(with_damage(at, true, "rank 1 is damaged") == "");
  }
}

TEST_CASE("without checksums the header is checked field by field") {
  CHECK(with_damage(offsetof(FrameHeader, magic), false, "magic") == "");
  CHECK(with_damage(offsetof(FrameHeader, version) + 1, false, "version") == "");
  CHECK(with_damage(offsetof(FrameHeader, kind), false, "kind") == "");
  CHECK(with_damage(offsetof(FrameHeader, ordinal) + 7, false, "lost") == "");
  CHECK(with_damage(offsetof(FrameHeader, payload), false, "payload bytes") == "");
  CHECK(with_damage(offsetof(FrameHeader, covered_first), false, "covered rank") == "");
  CHECK(with_damage(offsetof(FrameHeader, covered_count), false, "covered ranks") == "");
}

TEST_CASE("a message shorter than a header is damaged") {
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(FrameHeader) - 1}) {
    Stations stations(2);
    stations[1].transport().send(0, std::vector<std::byte>(size));
    CHECK(expect_error(sparsecollRemoteError, "expected at least 64 bytes",
                       [&] { hear_of_rank_1(stations[0]); }) == "");
  }
}

TEST_CASE("a rank that does not know of itself is refused") {
  for (const uint32_t first : {0u, 2u}) {
    Stations stations(3);
    FrameHeader header{};
    header.kind = static_cast<uint16_t>(FrameKind::data);
    header.sequence = 1;
    header.covered_first = first;
    header.covered_count = 1;
    std::byte room[kHeadroom] = {};
    stations[1].channel().send(0, header, {room + kHeadroom, 0});
    CHECK(expect_error(sparsecollRemoteError, "covered ranks",
                       [&] { hear_of_rank_1(stations[0]); }) == "");
  }
}

TEST_CASE("a notice of the wrong length is refused") {
  Stations stations(2);
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::abandon);
  header.sequence = 1;
  header.covered_first = header.covered_count = 1;
  std::byte room[kHeadroom + 3] = {};
  stations[1].channel().send(0, header, {room + kHeadroom, 3});
  CHECK(expect_error(sparsecollRemoteError, "notice of 3 bytes", [&] {
          stations[0].call(call_with_k(7), [](FramedCall& framed) { framed.abandon(nullptr); });
        }) == "");
}

TEST_CASE("ranks are named as people do") {
  CHECK(name_ranks({4}) == "rank 4");
  CHECK(name_ranks({1, 2}) == "ranks 1 and 2");
  CHECK(name_ranks({0, 3, 7}) == "ranks 0, 3 and 7");
}

}  // namespace
}  // namespace sparsecoll::unit
