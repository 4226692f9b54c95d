// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the errors of a call: peers that are late or gone, frames that are lost, old, damaged or
// too long, and aborts.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "calls/channel_ranks.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::unit {
namespace {

constexpr int kNoPeer = ChannelRank::kNoPeer;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rank 0 waits for one frame of rank 1 in its next call.
void receive_from_rank_1(ChannelRank& s, size_t in_bound = kUnknownSize) {
  s.call(call_with_k(7), [&](FramedCall& framed) { s.exchange(framed, kNoPeer, "", 1, in_bound); });
}

/// Rank 1 sends one frame in its next call.
void send_to_rank_0(ChannelRank& s, const std::string& message = "hello") {
  s.call(call_with_k(7), [&](FramedCall& framed) { s.exchange(framed, 0, message, kNoPeer); });
}

std::string miss_ranks_1_and_3(int deadline_ms) {
  ChannelRanks ranks(4, deadline_ms);
  return ranks.run([deadline_ms](ChannelRank& s) -> std::string {
    const Clock::time_point start = Clock::now();
    if (s.rank() == 1 || s.rank() == 3) return "";
    const std::string verdict =
        expect_error(sparsecollTimeout, "nothing was heard from ranks 1 and 3", [&] {
          s.call(call_with_k(7), [&](FramedCall& framed) {
            Transfer transfers[3];
            for (int i = 0; i < 3; ++i)
              transfers[i] = {i < s.rank() ? i : i + 1, {}, kUnknownSize, {}};
            s.exchange(framed, 2 - s.rank(), "hello", kNoPeer);
            framed.exchange(transfers);
          });
        });
    const double deadline = deadline_ms / 1000.0;
    if (seconds_since(start) < deadline) return "failed before its end: " + verdict;
    return seconds_since(start) < deadline + 1 ? verdict : "failed long after the deadline";
  });
}

TEST_CASE("the error of a deadline names the ranks that sent nothing") {
  CHECK(test::with_longer_deadlines(150, miss_ranks_1_and_3) == "");
}

TEST_CASE("a rank that closed is reported at once, after its messages were received") {
  ChannelRanks ranks(2);
  send_to_rank_0(ranks[1]);
  ranks[1].transport().close();
  receive_from_rank_1(ranks[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 has destroyed or aborted",
                     [&] { receive_from_rank_1(ranks[0]); }) == "");
}

TEST_CASE("a rank that fails sends its reason to all ranks, even to those that wait for others") {
  for (const std::string& why : {std::string("its disk is full"), std::string(100000, 'x')}) {
    ChannelRanks ranks(3);
    ranks[2].channel().begin(1);
    ranks[2].channel().send_fatal(Error(sparsecollInternalError, why));
    CHECK(expect_error(sparsecollRemoteError, "rank 2 failed in call 1: " + why.substr(0, 500),
                       [&] { receive_from_rank_1(ranks[0]); }) == "");
  }
}

TEST_CASE("a call that a peer completed goes on when the peer fails in a later call") {
  const Error why(sparsecollInternalError, "its disk is full");
  ChannelRanks ranks(3);
  ranks[2].channel().begin(2);
  ranks[2].channel().send_fatal(why);
  send_to_rank_0(ranks[1]);
  receive_from_rank_1(ranks[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 2 failed in call 2",
                     [&] { receive_from_rank_1(ranks[0]); }) == "");

  // The receiver waits for the rank that fails.
  ChannelRanks two(2);
  send_to_rank_0(two[1]);
  two[1].channel().end();  // ends call 1, so that call 2 fails
  two[1].channel().send_fatal(why);
  two[1].transport().close();
  receive_from_rank_1(two[0]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 failed in call 2",
                     [&] { receive_from_rank_1(two[0]); }) == "");
}

/// Aborts a rank that waits. Returns the seconds until its wait ends.
double abort_a_wait(ChannelRanks& ranks) {
  Clock::time_point aborted;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    aborted = Clock::now();
    ranks[0].channel().abort();
  });
  CHECK(expect_error(sparsecollInvalidUsage, "abort", [&] { receive_from_rank_1(ranks[0]); }) ==
        "");
  const Clock::time_point end = Clock::now();
  other.join();
  return std::chrono::duration<double>(end - aborted).count();
}

TEST_CASE("an abort from another thread ends a wait within a second") {
  // A thread may get no CPU for a second, but hardly ten times.
  double least = abort_a_wait(*std::make_unique<ChannelRanks>(2));
  for (int again = 0; again < 9 && least >= 1; ++again)
    least = std::min(least, abort_a_wait(*std::make_unique<ChannelRanks>(2)));
  CHECK(least < 1);
}

TEST_CASE("an abort is reported to the other ranks") {
  ChannelRanks ranks(2);
  abort_a_wait(ranks);
  CHECK(ranks[0].channel().aborted());
  CHECK(expect_error(sparsecollRemoteError, "rank 0 has destroyed or aborted", [&] {
          ranks[1].call(call_with_k(7),
                        [&](FramedCall& framed) { ranks[1].exchange(framed, kNoPeer, "", 0); });
        }) == "");
}

TEST_CASE("a lost frame is detected by the number of the next one") {
  ChannelRanks ranks(2, 200, [](int, int, size_t number) {
    MessageFault fault;
    fault.drop = number == 1;
    return fault;
  });
  for (int call = 0; call < 3; ++call) send_to_rank_0(ranks[1]);
  // All frames arrive in the first poll. No frame behind a lost one is accepted, so that even the
  // first receive fails.
  CHECK(expect_error(sparsecollRemoteError,
                     "messages of rank 1 were lost: expected number 1, got 2",
                     [&] { receive_from_rank_1(ranks[0]); }) == "");
}

TEST_CASE("if the last frame is lost, the deadline passes") {
  ChannelRanks ranks(2, 100, [](int, int, size_t number) {
    MessageFault fault;
    fault.drop = number == 1;
    return fault;
  });
  for (int call = 0; call < 2; ++call) send_to_rank_0(ranks[1]);
  receive_from_rank_1(ranks[0]);
  CHECK(expect_error(sparsecollTimeout, "rank 1", [&] { receive_from_rank_1(ranks[0]); }) == "");
}

TEST_CASE("a frame of an earlier call is refused") {
  ChannelRanks ranks(2, 200);
  ranks[0].skip_call();
  send_to_rank_0(ranks[1]);
  CHECK(expect_error(sparsecollRemoteError, "rank 1 sent a message of call 1 during call 2",
                     [&] { receive_from_rank_1(ranks[0]); }) == "");
}

TEST_CASE("a frame of a later call is not accepted as one of this call") {
  ChannelRanks ranks(2, 200);
  ranks[1].skip_call();
  send_to_rank_0(ranks[1]);
  bool refused = false;
  try {
    receive_from_rank_1(ranks[0]);
  } catch (const Error& error) {
    refused = error.code() == sparsecollRemoteError || error.code() == sparsecollTimeout;
  }
  CHECK(refused);
}

TEST_CASE("a frame longer than its bound is refused") {
  ChannelRanks ranks(2);
  send_to_rank_0(ranks[1], "12345678");
  receive_from_rank_1(ranks[0], 8);
  send_to_rank_0(ranks[1], "123456789");
  CHECK(expect_error(sparsecollRemoteError, "rank 1 sent 9 bytes where at most 8 were expected",
                     [&] { receive_from_rank_1(ranks[0], 8); }) == "");
}

/// Rank 1 sends a frame whose byte `at` is inverted. Returns "" if rank 0 reports an error that
/// contains `words`.
std::string with_damage(size_t at, bool verify, const std::string& words) {
  const auto invert = [at](int, int, size_t) {
    MessageFault fault;
    fault.corrupt_byte = at;
    return fault;
  };
  ChannelRanks ranks(2, 200, invert, verify);
  send_to_rank_0(ranks[1]);
  return expect_error(sparsecollRemoteError, words, [&] { receive_from_rank_1(ranks[0]); });
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
    ChannelRanks ranks(2);
    ranks[1].transport().send(0, std::vector<std::byte>(size));
    CHECK(expect_error(sparsecollRemoteError, "expected at least 64 bytes",
                       [&] { receive_from_rank_1(ranks[0]); }) == "");
  }
}

TEST_CASE("a frame whose covered ranks do not include its sender is refused") {
  for (const uint32_t first : {0u, 2u}) {
    ChannelRanks ranks(3);
    FrameHeader header{};
    header.kind = static_cast<uint16_t>(FrameKind::data);
    header.sequence = 1;
    header.covered_first = first;
    header.covered_count = 1;
    std::byte room[kHeadroom] = {};
    ranks[1].channel().send(0, header, {room + kHeadroom, 0});
    CHECK(expect_error(sparsecollRemoteError, "covered ranks",
                       [&] { receive_from_rank_1(ranks[0]); }) == "");
  }
}

TEST_CASE("a notice of the wrong length is refused") {
  ChannelRanks ranks(2);
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::abandon);
  header.sequence = 1;
  header.covered_first = header.covered_count = 1;
  std::byte room[kHeadroom + 3] = {};
  ranks[1].channel().send(0, header, {room + kHeadroom, 3});
  CHECK(expect_error(sparsecollRemoteError, "notice of 3 bytes", [&] {
          ranks[0].call(call_with_k(7), [](FramedCall& framed) { framed.abandon(nullptr); });
        }) == "");
}

TEST_CASE("name_ranks() lists ranks as a sentence does") {
  CHECK(name_ranks({4}) == "rank 4");
  CHECK(name_ranks({1, 2}) == "ranks 1 and 2");
  CHECK(name_ranks({0, 3, 7}) == "ranks 0, 3 and 7");
}

}  // namespace
}  // namespace sparsecoll::unit
