// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How much gossip may wait for a rank: on the way to it, and in its channel.

#include <cstring>

#include "calls/channel_ranks.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

constexpr uint64_t kState = 1;
constexpr size_t kMessage = 200;  // bytes; it takes a block of 256
constexpr size_t kLimit = 10 * 256;

/// Two ranks, of which rank 0 sends gossip to rank 1.
class Pair {
 public:
  explicit Pair(const ChannelLimits& of_0, const ChannelLimits& of_1)
      : transports_(make_local_transports(2)),
        sender_(*transports_[0], memory_, true, of_0),
        receiver_(*transports_[1], memory_, true, of_1) {
    receiver_.open(kState);
  }
  void send() {
    FrameHeader header{};
    header.kind = static_cast<uint16_t>(FrameKind::gossip);
    Buffer message = transports_[0]->pool().take_fitting(kMessage);
    std::memset(message.data(), 0, kMessage);
    std::memcpy(message.data() + sizeof header, &kState, sizeof kState);
    sender_.hand_over(1, header, std::move(message));
  }
  void receive() {
    receiver_.progress([](int, const Frame&) {});
  }
  void take() {
    auto first = receiver_.gossip(0).begin();
    receiver_.take_gossip(0, first);
  }

 private:
  std::vector<std::unique_ptr<Transport>> transports_;
  Memory memory_;
  Channel sender_, receiver_;
};

TEST_CASE("a rank that receives nothing is sent only so much gossip") {
  Pair pair({.waiting_gossip = kLimit}, {});
  for (int round = 0; round < 3; ++round) {
    for (int message = 0; message < 10; ++message) pair.send();
    CHECK(expect_error(sparsecollRemoteError,
                       "rank 1 has not received gossip of 2816 bytes that was sent to it; expected "
                       "at most 2560",
                       [&] { pair.send(); }) == "");
    pair.receive();
  }
}

TEST_CASE("only so much gossip waits for the steps of a rank") {
  Pair pair({}, {.waiting_gossip = kLimit});
  for (int message = 0; message < 10; ++message) pair.send();
  pair.receive();
  for (int message = 0; message < 4; ++message) pair.take();
  for (int message = 0; message < 4; ++message) pair.send();
  pair.receive();
  pair.send();
  CHECK(expect_error(sparsecollRemoteError,
                     "gossip of 2816 bytes waits for steps of this rank, the last of rank 0; "
                     "expected at most 2560",
                     [&] { pair.receive(); }) == "");
}

}  // namespace
}  // namespace sparsecoll::unit
