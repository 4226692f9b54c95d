// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of agreement without a round of its own: covered ranks, ranks that are calls ahead, and
// calls that are abandoned while messages are in flight.

#include <chrono>
#include <thread>

#include "calls/channel_ranks.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

constexpr int kNoPeer = ChannelRank::kNoPeer;

TEST_CASE("agree() covers all ranks in ceil(log2 P) messages") {
  for (const int P : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([P](ChannelRank& s) {
      for (int call = 0; call < 3; ++call) {
        s.call(call_with_k(7), [](FramedCall& framed) { framed.agree(); });
        if (s.stats().messages_sent != static_cast<size_t>(ceil_log2(static_cast<uint64_t>(P))))
          return text(s.stats().messages_sent, " messages");
        if (s.stats().bytes_sent != s.stats().messages_sent * sizeof(FrameHeader) ||
            s.stats().bytes_received != s.stats().bytes_sent)
          return std::string("the bytes are counted wrongly");
      }
      return std::string();
    }) == "");
  }
}

TEST_CASE("a call is not confirmed before every rank is covered") {
  ChannelRanks ranks(3);
  CHECK(ranks.run([](ChannelRank& s) {
    return expect_error(sparsecollInternalError, "2 of 3 ranks", [&] {
      s.call(call_with_k(7), [&](FramedCall& framed) {
        s.exchange(framed, (s.rank() + 1) % 3, "hello", (s.rank() + 2) % 3);
        framed.confirm();
      });
    });
  }) == "");
}

TEST_CASE("covered ranks are relayed along a chain, and back") {
  for (const int P : {2, 4, 5, 8}) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([P](ChannelRank& s) {
      std::string got;
      s.call(call_with_k(7), [&](FramedCall& framed) {
        const int r = s.rank();
        if (r > 0) got = s.exchange(framed, kNoPeer, "", r - 1);
        got += std::to_string(r);
        if (r + 1 < P) s.exchange(framed, r + 1, got, kNoPeer);
        if (r + 1 < P) got = s.exchange(framed, kNoPeer, "", r + 1);
        if (r > 0) s.exchange(framed, r - 1, got, kNoPeer);
        framed.confirm();
      });
      return got == std::string("01234567").substr(0, static_cast<size_t>(P)) ? "" : got;
    }) == "");
  }
}

TEST_CASE("a range of covered ranks that wraps around the last rank is relayed, too") {
  // Rank 3 of 5 receives from rank 4, which covers 4 and 0. Then it sends to rank 1, which covers 1
  // and 2.
  ChannelRanks ranks(5);
  CHECK(ranks.run([](ChannelRank& s) {
    s.call(call_with_k(7), [&](FramedCall& framed) {
      if (s.rank() == 0) s.exchange(framed, 4, "", kNoPeer);
      if (s.rank() == 4) s.exchange(framed, kNoPeer, "", 0);
      if (s.rank() == 4) s.exchange(framed, 3, "", kNoPeer);
      if (s.rank() == 2) s.exchange(framed, 1, "", kNoPeer);
      if (s.rank() == 3) s.exchange(framed, kNoPeer, "", 4);
      if (s.rank() == 3) s.exchange(framed, 1, "", kNoPeer);
      if (s.rank() != 1) return;
      s.exchange(framed, kNoPeer, "", 2);
      s.exchange(framed, kNoPeer, "", 3);
      framed.confirm();
    });
    return std::string();
  }) == "");
}

TEST_CASE("messages of a rank that is calls ahead are queued until their call") {
  ChannelRanks ranks(2);
  CHECK(ranks.run([](ChannelRank& s) {
    for (int call = 1; call <= 5; ++call) {
      std::string first, second;
      s.call(call_with_k(7), [&](FramedCall& framed) {
        if (s.rank() == 0) {
          s.exchange(framed, 1, text("first of ", call), kNoPeer);
          s.exchange(framed, 1, text("second of ", call), kNoPeer);
          return;
        }
        if (call == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        first = s.exchange(framed, kNoPeer, "", 0);
        second = s.exchange(framed, kNoPeer, "", 0);
      });
      if (s.rank() == 1 && (first != text("first of ", call) || second != text("second of ", call)))
        return text("call ", call, " got '", first, "' and '", second, "'");
    }
    return std::string();
  }) == "");
}

/// Makes a call in which rank `failing_rank` passes a bad argument, which it detects after one
/// exchange. The others go on sending.
std::string call_with_bad_argument(ChannelRank& s, int failing_rank) {
  const int P = s.size(), to = (s.rank() + 1) % P, from = (s.rank() + P - 1) % P;
  const Error problem(sparsecollInvalidArgument, "k: expected a better one");
  const auto body = [&](FramedCall& framed) {
    try {
      s.exchange(framed, to, "first", from);
      if (s.rank() == failing_rank) framed.abandon(&problem);
      for (int more = 0; more < 3; ++more) s.exchange(framed, to, std::string(5000, 'x'), kNoPeer);
      for (;;) s.exchange(framed, kNoPeer, "", from);
    } catch (const Abandoned&) {
      framed.abandon(s.rank() == failing_rank ? &problem : nullptr);
    }
  };
  const bool own = s.rank() == failing_rank;
  return expect_error(
      own ? sparsecollInvalidArgument : sparsecollInvalidUsage,
      own ? std::string("k: expected a better one")
          : text("rank ", failing_rank, " passed a bad argument: k: expected a better"),
      [&] { s.call(call_with_k(7), body); });
}

TEST_CASE("an abandoned call leaves no frame, and the next call works") {
  for (const int P : {2, 3, 6}) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([P](ChannelRank& s) {
      for (int call = 0; call < 3 * P; ++call) {
        const std::string verdict = call_with_bad_argument(s, call % P);
        if (!verdict.empty()) return text("call ", call, ": ", verdict);
        s.call(call_with_k(7), [](FramedCall& framed) { framed.agree(); });
      }
      for (int peer = 0; peer < P; ++peer)
        if (!s.channel().queue(peer).empty()) return std::string("a frame is left over");
      return std::string();
    }) == "");
  }
}

TEST_CASE("all ranks learn of a bad argument within a second") {
  // A thread may get no CPU for a second, but hardly ten times.
  double least = 1;
  for (int attempt = 0; attempt < 10 && least >= 1; ++attempt) {
    ChannelRanks ranks(3);
    const Clock::time_point start = Clock::now();
    CHECK(ranks.run([](ChannelRank& s) { return call_with_bad_argument(s, 1); }) == "");
    least = std::chrono::duration<double>(Clock::now() - start).count();
  }
  CHECK(least < 1);
}

TEST_CASE("a rank may abandon its next call while others are still in this one") {
  ChannelRanks ranks(3);
  CHECK(ranks.run([](ChannelRank& s) -> std::string {
    std::string got;
    s.call(call_with_k(7), [&](FramedCall& framed) {
      if (s.rank() != 2) {
        got = s.exchange(framed, kNoPeer, "", 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return;
      }
      s.exchange(framed, 0, "data", kNoPeer);
      s.exchange(framed, 1, "data", kNoPeer);
    });
    if (s.rank() != 2 && got != "data") return "the call before got '" + got + "'";
    if (s.rank() == 2) {
      return expect_error(sparsecollInvalidArgument, "bad", [&] {
        const Error bad(sparsecollInvalidArgument, "bad");
        s.call(call_with_k(7), [&](FramedCall& framed) { framed.abandon(&bad); });
      });
    }
    return expect_error(sparsecollInvalidUsage, "rank 2", [&] {
      s.call(call_with_k(7), [&](FramedCall& framed) {
        try {
          s.exchange(framed, 1 - s.rank(), "data", 1 - s.rank());
          s.exchange(framed, kNoPeer, "", 2);
        } catch (const Abandoned&) {
          framed.abandon(nullptr);
        }
      });
    });
  }) == "");
}

TEST_CASE("different arguments are detected and named on every rank") {
  ChannelRanks ranks(5);
  CHECK(ranks.run([](ChannelRank& s) {
    const uint64_t k = s.rank() == 3 ? 11 : 10;
    const std::string words = s.rank() == 3 ? "k: this rank passed 11, rank 0 passed 10"
                                            : "k: this rank passed 10, rank 3 passed 11";
    for (int call = 0; call < 4; ++call) {
      const std::string verdict = expect_error(sparsecollInvalidUsage, words, [&] {
        s.call(call_with_k(k), [](FramedCall& framed) {
          try {
            framed.agree();
          } catch (const Abandoned&) {
            framed.abandon(nullptr);
          }
        });
      });
      if (!verdict.empty()) return verdict;
    }
    s.call(call_with_k(10), [](FramedCall& framed) { framed.agree(); });
    return std::string();
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::unit
