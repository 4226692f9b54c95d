// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the basic collectives that the algorithms share: sums of counters and allgathers of
// messages.

#include <array>
#include <atomic>
#include <mutex>

#include "calls/channel_ranks.hpp"
#include "collectives/building_blocks/allgather_messages.hpp"
#include "collectives/building_blocks/allreduce_counts.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::unit {
namespace {

using test::noise;

const std::vector<int> kRanks{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};

/// Returns counter c of a rank. The counters have all magnitudes and include 0 and the maximum.
uint64_t counter(int rank, size_t c) {
  const uint64_t bits = noise(static_cast<uint64_t>(rank), c);
  if (bits % 5 == 0) return 0;
  if (bits % 97 == 1) return ~uint64_t{0};
  return bits >> (noise(bits, 1) % 64);
}

std::string check_counts(ChannelRank& s, size_t count) {
  std::vector<uint64_t> counters(count), want(count);
  for (size_t c = 0; c < count; ++c) {
    counters[c] = counter(s.rank(), c);
    for (int r = 0; r < s.size(); ++r) want[c] += counter(r, c);
  }
  s.collective([&](Env& env) { allreduce_counts(env, counters); });
  for (size_t c = 0; c < count; ++c)
    if (counters[c] != want[c])
      return text(count, " counters, number ", c, ": ", counters[c], " instead of ", want[c]);
  return "";
}

TEST_CASE("allreduce_counts gives every rank the sum over all") {
  for (const int P : kRanks) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([](ChannelRank& s) {
      std::string verdict;
      for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{257}, size_t{4096}})
        if (verdict.empty()) verdict = check_counts(s, count);
      return verdict;
    }) == "");
  }
}

TEST_CASE("allreduce_counts sends at most two messages in each round and covers all ranks") {
  for (const int P : kRanks) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([P](ChannelRank& s) {
      s.collective([](Env& env) {
        uint64_t one = 1;
        allreduce_counts(env, {&one, 1});
        static_cast<FramedCall&>(env.call).confirm();
      });
      const size_t most = 2 * static_cast<size_t>(ceil_log2(static_cast<uint64_t>(P)));
      return s.stats().messages_sent <= most ? "" : text(s.stats().messages_sent, " messages");
    }) == "");
  }
}

TEST_CASE("small counters are sent in one byte each") {
  ChannelRanks ranks(2);
  CHECK(ranks.run([](ChannelRank& s) {
    std::vector<uint64_t> counters(1000, 127);
    s.collective([&](Env& env) { allreduce_counts(env, counters); });
    return s.stats().bytes_sent == sizeof(FrameHeader) + 1000
               ? ""
               : text(s.stats().bytes_sent, " bytes");
  }) == "");
}

std::string text_message(int rank, uint64_t round) {
  const auto bytes =
      test_message(test_message_size(static_cast<uint64_t>(rank) + round), rank, round);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Checks allgather_messages. `about` is the expected size of a message; it selects the algorithm.
std::string check_gather(ChannelRank& s, uint64_t round, size_t about) {
  std::string verdict;
  s.collective([&](Env& env) {
    const std::string own = text_message(s.rank(), round);
    const uint64_t number = static_cast<uint64_t>(s.rank()) * 1000 + round;
    const auto all = allgather_messages(env, {std::as_bytes(std::span(own)), number}, about);
    static_cast<FramedCall&>(env.call).confirm();
    if (all.size() != static_cast<size_t>(s.size())) verdict = text(all.size(), " messages");
    for (int r = 0; verdict.empty() && r < s.size(); ++r) {
      const GatheredMessage& got = all[static_cast<size_t>(r)];
      const std::string bytes(reinterpret_cast<const char*>(got.message.data()),
                              got.message.size());
      if (bytes != text_message(r, round)) verdict = text("the message of rank ", r, " is wrong");
      if (got.number != static_cast<uint64_t>(r) * 1000 + round)
        verdict = text("the number of rank ", r);
    }
  });
  const auto ranks = static_cast<uint64_t>(s.size());
  const size_t messages = about > 0 ? ranks - 1 : static_cast<size_t>(ceil_log2(ranks));
  if (verdict.empty() && s.stats().messages_sent != messages)
    verdict = text(s.stats().messages_sent, " messages sent");
  return verdict;
}

TEST_CASE("allgather_messages gives every rank all messages, of any size") {
  for (const int P : kRanks) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([](ChannelRank& s) {
      std::string verdict;
      for (uint64_t round = 0; round < 9 && verdict.empty(); ++round)
        verdict = check_gather(s, round, 0) + check_gather(s, round, 1000000);
      return verdict;
    }) == "");
  }
}

TEST_CASE("a rank sends only a few long messages more than it received") {
  constexpr int P = 16, kAhead = 4;
  std::mutex mutex;
  std::array<int, P> sent{}, sent_to{};
  bool overrun = false;
  const auto count = [&](int sender, int receiver, size_t) {
    const std::lock_guard lock(mutex);
    const auto from = static_cast<size_t>(sender), to = static_cast<size_t>(receiver);
    overrun |= sent[from] - sent_to[from] >= kAhead;
    ++sent[from];
    ++sent_to[to];
    return MessageFault{};
  };
  ChannelRanks ranks(P, 30000, count);
  CHECK(ranks.run([](ChannelRank& s) -> std::string {
    std::string verdict;
    s.collective([&](Env& env) {
      const std::string own(100000 + static_cast<size_t>(s.rank()), 'x');
      const auto all = allgather_messages(env, {std::as_bytes(std::span(own)), 7}, own.size());
      for (int r = 0; r < P; ++r)
        if (all[static_cast<size_t>(r)].message.size() != 100000 + static_cast<size_t>(r))
          verdict = text("the message of rank ", r, " is wrong");
    });
    return verdict;
  }) == "");
  CHECK_FALSE(overrun);
}

TEST_CASE("two late ranks for which all other messages arrived wait only for each other") {
  constexpr int P = 18, kLate = P / 2;  // the late ranks are 0 and kLate, at the largest distance
  std::array<std::atomic<int>, P> sent_to{};
  const auto count = [&](int, int receiver, size_t) {
    ++sent_to[static_cast<size_t>(receiver)];
    return MessageFault{};
  };
  ChannelRanks ranks(P, 60000, count);
  CHECK(ranks.run([&](ChannelRank& s) -> std::string {
    const auto start = Clock::now();
    while (s.rank() % kLate == 0 && (sent_to[0] < P - 2 || sent_to[kLate] < P - 2))
      if (Clock::now() - start > std::chrono::seconds(50)) return "the others do not send";
    s.collective([&](Env& env) {
      const std::string own(100000, 'x');
      allgather_messages(env, {std::as_bytes(std::span(own)), 7}, own.size());
    });
    return "";
  }) == "");
}

/// Rank 0 makes a collective call, and rank 1 answers with `payload`. Returns "" if rank 0 reports
/// an error that contains `words`.
std::string error_on_answer(const std::string& payload, const std::string& words,
                            const std::function<void(Env&)>& collective) {
  ChannelRanks ranks(2);
  return ranks.run([&](ChannelRank& s) -> std::string {
    if (s.rank() == 0)
      return expect_error(sparsecollRemoteError, words, [&] { s.collective(collective); });
    s.call(call_with_k(1), [&](FramedCall& call) { s.exchange(call, 0, payload, 0); });
    return "";
  });
}

TEST_CASE("malformed counters are refused") {
  const auto three = [](Env& env) {
    uint64_t counters[3] = {1, 2, 3};
    allreduce_counts(env, counters);
  };
  const std::string endless(30, '\x80');
  CHECK(error_on_answer("", "malformed counters", three) == "");
  CHECK(error_on_answer("\1\2", "malformed counters", three) == "");
  CHECK(error_on_answer("\1\2\x80", "malformed counters", three) == "");
  CHECK(error_on_answer(endless, "malformed counters", three) == "");
  CHECK(error_on_answer("\1\2" + std::string(10, '\xff') + '\1', "malformed counters", three) ==
        "");
  CHECK(error_on_answer("\1\2\3\4", "too many counters", three) == "");
}

void check_refusals(size_t about) {
  const auto gather = [about](Env& env) {
    const std::string own = "own";
    allgather_messages(env, {std::as_bytes(std::span(own)), 5}, about);
  };
  const auto block = [](uint64_t bytes, size_t available) {
    std::string payload(16 + available, '\0');
    std::memcpy(payload.data(), &bytes, 8);
    return payload;
  };
  CHECK(error_on_answer("", "too few blocks", gather) == "");
  CHECK(error_on_answer(block(0, 0).substr(0, 15), "too few blocks", gather) == "");
  CHECK(error_on_answer(block(1, 0), "a block of 1 bytes in 0", gather) == "");
  CHECK(error_on_answer(block(9, 15), "a block of 9 bytes in 15", gather) == "");
  CHECK(error_on_answer(block(3, 7), "a block of 3 bytes in 7", gather) == "");
  for (const uint64_t huge : {~uint64_t{0}, ~uint64_t{0} - 6, ~uint64_t{0} - 7, uint64_t{1} << 63})
    CHECK(error_on_answer(block(huge, 8), "a block of", gather) == "");
  CHECK(error_on_answer(block(8, 8).append("x"), "too many blocks", gather) == "");
}

TEST_CASE("malformed blocks are refused") {
  for (const size_t about : {size_t{0}, size_t{1000000}}) check_refusals(about);
}

}  // namespace
}  // namespace sparsecoll::unit
