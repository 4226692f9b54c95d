// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of long messages, which are sent in chunks.

#include <algorithm>

#include "calls/channel_ranks.hpp"
#include "support/catch.hpp"
#include "transport/forwarding_transport.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kTestChunk = 16;
constexpr int kTimeout = 30000;

std::string pattern(size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 37 + i / 256 + bytes);
  return text;
}

class TrustedTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  bool shares_memory(int) const override { return true; }
};

/// Two channels with chunks of 16 bytes, so that messages above 16 bytes are long. `unsummed`: they
/// share memory, and payloads of this size have no checksum.
class ChannelPair {
 public:
  explicit ChannelPair(const FaultPlan& plan = {}, bool verify = true,
                       std::optional<size_t> unsummed = {})
      : transports_(make_local_transports(2, plan)) {
    ChannelLimits limits{.chunk = kTestChunk};
    if (unsummed) limits.unsummed = *unsummed;
    for (auto& each : transports_) {
      if (unsummed) each = std::make_unique<TrustedTransport>(std::move(each));
      channels_.push_back(std::make_unique<Channel>(*each, memory_, verify, limits));
    }
  }
  Transport& transport(size_t rank) { return *transports_[rank]; }

  /// Rank 1 sends a long message. The channel calls write(data, end) when it needs the bytes before
  /// `end`.
  void send(size_t bytes, FunctionRef<void(std::byte* data, size_t end)> write) {
    channels_[1]->begin(1);
    room_.assign(kHeadroom + bytes, std::byte{0xee});
    std::byte* const data = room_.data() + kHeadroom;
    channels_[1]->send_long(0, header(),
                            {data, bytes, data - kHeadroom, &tail_, [&](const std::byte* end) {
                               write(data, static_cast<size_t>(end - data));
                             }});
  }
  /// Rank 1 sends a message whose payload is in device memory.
  void send_from_device(std::string text) {
    channels_[1]->begin(1);
    room_.assign(sizeof(FrameHeader), std::byte{0xee});
    device_payload_ = std::move(text);
    auto* const data = reinterpret_cast<std::byte*>(device_payload_.data());
    channels_[1]->send_long(
        0, header(),
        {data, device_payload_.size(), room_.data(), nullptr, [](const std::byte*) {}});
  }
  /// Returns the message that rank 0 received, or "" if none arrived.
  std::string receive() {
    channels_[0]->begin(1);
    channels_[0]->progress([](int, const Frame&) {});
    auto& queue = channels_[0]->queue(1);
    if (queue.empty()) return "";
    const ConstBytes in = queue.front().payload();
    const std::string text(reinterpret_cast<const char*>(in.data()), in.size());
    queue.pop_front();
    return text;
  }
  static FrameHeader header() {
    FrameHeader header{};
    header.kind = static_cast<uint16_t>(FrameKind::data);
    header.sequence = 1;
    header.covered_first = 1;
    header.covered_count = 1;
    return header;
  }
  Channel& channel(size_t rank) { return *channels_[rank]; }

 private:
  Memory memory_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::byte> room_;
  std::string device_payload_;
  uint64_t tail_ = 0;
};

void send_pattern(ChannelPair& pair, size_t bytes) {
  const std::string text = pattern(bytes);
  pair.send(bytes, [&](std::byte* data, size_t) { std::memcpy(data, text.data(), bytes); });
}

TEST_CASE("a long message arrives complete, and no byte is read before it is written") {
  for (size_t bytes = 1; bytes < 6 * kTestChunk; ++bytes) {
    INFO(bytes << " bytes");
    const std::string text = pattern(bytes);
    ChannelPair pair;
    size_t written = 0;
    pair.send(bytes, [&](std::byte* data, size_t end) {
      CHECK(end == std::min(written + kTestChunk, bytes));
      std::memcpy(data + written, text.data() + written, end - written);
      written = end;
    });
    CHECK(written == bytes);
    CHECK(pair.receive() == text);
  }
}

TEST_CASE("every byte of a long message is covered by a checksum") {
  const size_t bytes = 3 * kTestChunk + 5;
  for (size_t at = 0; at < sizeof(FrameHeader) + bytes + sizeof(uint64_t); ++at) {
    INFO("byte " << at);
    ChannelPair pair([at](int, int, size_t) {
      MessageFault fault;
      fault.corrupt_byte = at;
      return fault;
    });
    send_pattern(pair, bytes);
    CHECK(expect_error(sparsecollRemoteError, "rank 1 is damaged", [&] { pair.receive(); }) == "");
  }
}

TEST_CASE("the header of a message from device memory is covered by a checksum") {
  const size_t bytes = 3 * kTestChunk + 5;
  for (size_t at = 0; at < sizeof(FrameHeader) + bytes; ++at) {
    INFO("byte " << at);
    ChannelPair pair([at](int, int, size_t) {
      MessageFault fault;
      fault.corrupt_byte = at;
      return fault;
    });
    pair.send_from_device(pattern(bytes));
    if (at < sizeof(FrameHeader)) {
      CHECK(expect_error(sparsecollRemoteError, "rank 1 is damaged", [&] { pair.receive(); }) ==
            "");
    } else {
      std::string want = pattern(bytes);
      want[at - sizeof(FrameHeader)] ^= static_cast<char>(0xff);
      CHECK(pair.receive() == want);
    }
  }
}

TEST_CASE("through shared memory the header is covered by a checksum, and a long payload is not") {
  for (const size_t bytes : {size_t{10}, 3 * kTestChunk + 5}) {
    for (const size_t unsummed : {bytes, bytes + 1}) {
      const size_t tail = unsummed > bytes && bytes > kTestChunk ? sizeof(uint64_t) : 0;
      for (size_t at = 0; at < sizeof(FrameHeader) + bytes + tail; ++at) {
        INFO(bytes << " bytes, without a checksum from " << unsummed << ", byte " << at);
        ChannelPair pair(
            [at](int, int, size_t) {
              MessageFault fault;
              fault.corrupt_byte = at;
              return fault;
            },
            true, unsummed);
        std::string want = pattern(bytes);
        std::byte short_message[sizeof(FrameHeader) + 10];
        if (bytes > kTestChunk) {
          send_pattern(pair, bytes);
        } else {
          std::memcpy(short_message + sizeof(FrameHeader), want.data(), bytes);
          pair.channel(1).begin(1);
          pair.channel(1).send(0, ChannelPair::header(),
                               {short_message + sizeof(FrameHeader), bytes});
        }
        if (at < sizeof(FrameHeader) || unsummed > bytes) {
          CHECK(expect_error(sparsecollRemoteError, "rank 1 is damaged", [&] { pair.receive(); }) ==
                "");
        } else {
          want[at - sizeof(FrameHeader)] ^= static_cast<char>(0xff);
          CHECK(pair.receive() == want);
        }
      }
    }
  }
}

TEST_CASE("the same payload goes to peers with and without a checksum") {
  for (const bool shared_first : {false, true}) {
    INFO("shared first: " << shared_first);
    const std::string text = pattern(50);
    FrameHeader first = ChannelPair::header(), second = first;
    (shared_first ? first : second).unsummed = Unsummed::shared_memory;
    std::byte sent[2][sizeof(FrameHeader) + 50];
    for (auto& each : sent) std::memcpy(each + sizeof(FrameHeader), text.data(), text.size());
    const auto payload = [&](int i) { return ConstBytes(sent[i]).subspan(sizeof(FrameHeader)); };
    put_frame_header(first, {payload(0)}, true, sent[0]);
    put_frame_header(second, {payload(1), sent[0]}, true, sent[1]);
    Memory memory;
    Pool pool(memory);
    for (const auto& each : sent) {
      Frame frame{{}, pool.take(sizeof each)};
      std::memcpy(frame.buffer.data(), each, sizeof each);
      std::memcpy(&frame.header, each, sizeof frame.header);
      CHECK_NOTHROW(check_frame(frame, {1, 2, 0, true}));
      frame.buffer.data()[70] ^= std::byte{1};
      const bool covered = frame.header.unsummed == Unsummed::no;
      if (covered)
        CHECK_THROWS_AS(check_frame(frame, {1, 2, 0, true}), Error);
      else
        CHECK_NOTHROW(check_frame(frame, {1, 2, 0, true}));
    }
  }
}

TEST_CASE("only data frames may be sent from device memory") {
  for (const FrameKind kind : {FrameKind::abandon, FrameKind::fatal, FrameKind::gossip}) {
    ChannelPair pair({}, false);
    std::byte message[sizeof(FrameHeader) + 64] = {};
    pair.channel(1).send(0, ChannelPair::header(), {message + sizeof(FrameHeader), 64});
    FrameHeader header;
    std::memcpy(&header, message, sizeof header);
    pair.receive();
    header.kind = static_cast<uint16_t>(kind);
    header.ordinal = 1;
    header.unsummed = Unsummed::on_device;
    std::memcpy(message, &header, sizeof header);
    pair.transport(1).send(0, message);
    CHECK(expect_error(sparsecollRemoteError, "payload without a checksum expected 0, got 1",
                       [&] { pair.receive(); }) == "");
  }
}

TEST_CASE("without checksums the length of the tail behind the payload is checked") {
  ChannelPair pair(
      [](int, int, size_t) {
        MessageFault fault;
        fault.corrupt_byte = offsetof(FrameHeader, tail);
        return fault;
      },
      false);
  send_pattern(pair, 40);
  CHECK(expect_error(sparsecollRemoteError, "bytes behind the payload", [&] { pair.receive(); }) ==
        "");
}

TEST_CASE("a long message that its sender cannot finish is not received, but the next message is") {
  ChannelPair pair;
  CHECK(expect_error(sparsecollUnhandledCudaError, "lost", [&] {
          pair.send(50, [](std::byte*, size_t end) {
            if (end > 2 * kTestChunk) fail(sparsecollUnhandledCudaError, "lost");
          });
        }) == "");
  CHECK(pair.receive() == "");
  pair.channel(1).send_fatal(Error(sparsecollUnhandledCudaError, "the device was lost"));
  CHECK(expect_error(sparsecollRemoteError, "the device was lost", [&] { pair.receive(); }) == "");
}

TEST_CASE("ranks exchange long messages") {
  const size_t bytes = 2 * ChannelLimits{}.chunk + 12345;
  ChannelRanks ranks(3, kTimeout);
  CHECK(ranks.run([&](ChannelRank& s) {
    std::string wrong;
    s.call(call_with_k(1), [&](FramedCall& call) {
      const int right = (s.rank() + 1) % 3, left = (s.rank() + 2) % 3;
      const auto own = static_cast<size_t>(s.rank()), other = static_cast<size_t>(left);
      if (s.exchange(call, right, pattern(bytes + own), left) != pattern(bytes + other))
        wrong = "a wrong message";
      if (s.stats().bytes_sent != sizeof(FrameHeader) + bytes + own)  // through shared memory
        wrong += text("counted ", s.stats().bytes_sent, " bytes");
      call.agree();
    });
    return wrong;
  }) == "");
}

TEST_CASE("a transport drops an unfinished message when another is sent to the same peer") {
  const std::vector<std::byte> first(10), second(3);
  auto ranks = make_local_transports(2);
  ranks[1]->open(0, 20);
  ranks[1]->send_chunk(0, first);
  ranks[1]->send(0, second);
  ranks[1]->open(0, 5);
  ranks[1]->open(0, 10);
  ranks[1]->send_chunk(0, first);
  std::vector<size_t> sizes;
  while (const auto arrived = ranks[0]->poll()) sizes.push_back(arrived->bytes.size());
  CHECK(sizes == std::vector<size_t>{3, 10});
}

}  // namespace
}  // namespace sparsecoll::unit
