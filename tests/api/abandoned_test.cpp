// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A transport that is abandoned may still read the messages it was given. Their memory is never
// freed or reused.

#include <algorithm>
#include <thread>

#include "api/communicators.hpp"
#include "api/sanitizers.hpp"
#include "calls/framed/channel.hpp"
#include "support/catch.hpp"
#include "support/step.hpp"

namespace sparsecoll::unit {
namespace {

/// A message that was given to a transport, and a copy of it.
struct Sent {
  ConstBytes bytes;
  std::vector<std::byte> copy;
};

/// Rank 0 of two ranks. Its messages are never sent and it never receives one, as over MPI if the
/// peer has stopped.
class StuckTransport final : public Transport {
 public:
  explicit StuckTransport(std::vector<Sent>& sent) : sent_(sent) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void check_thread() const override {}
  void check_queue() const override {}
  void send(int, ConstBytes bytes) override {
    sent_.push_back({bytes, {bytes.begin(), bytes.end()}});
    unsent_ += bytes.size();
  }
  void open(int, const MessageLength&) override {}
  void send_chunk(int peer, ConstBytes part) override { send(peer, part); }
  void hand_over(int, Buffer) override {}  // only for gossip, which the test does not use
  size_t unsent() override { return unsent_; }
  size_t unsent_handed_over() override { return 0; }
  size_t unsent_to(int peer) override { return peer == 0 ? 0 : unsent_; }
  std::optional<ReceivedMessage> poll() override { return std::nullopt; }
  bool gone(int) const override { return false; }
  void idle(Clock::time_point limit) override { std::this_thread::sleep_until(limit); }
  void interrupt() noexcept override {}
  uint64_t next_address() override { return 0; }
  std::unique_ptr<Transport> split(std::span<const RankAddress>, uint64_t) override {
    return nullptr;
  }
  bool close_is_collective() const override { return true; }
  void close() override {}
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = true;
    return 0;
  }
  Pool& pool() override { return pool_; }
  const Memory& memory() const override { return memory_; }

 private:
  std::vector<Sent>& sent_;
  size_t unsent_ = 0;
  Memory memory_;
  Pool pool_{memory_};
};

bool untouched(const std::vector<Sent>& sent) {
  return std::all_of(sent.begin(), sent.end(), [](const Sent& each) {
    return std::equal(each.bytes.begin(), each.bytes.end(), each.copy.begin(), each.copy.end());
  });
}

TEST_CASE("a deadline that passes during a send names the rank that does not receive") {
  std::vector<Sent> sent;
  StuckTransport transport(sent);
  Memory memory;
  Channel channel(transport, memory, true);
  std::vector<std::byte> message(sizeof(FrameHeader) + 100);
  channel.begin(1);
  FrameHeader header{};
  header.sequence = 1;
  channel.send(1, header, {message.data() + sizeof(FrameHeader), 100});
  CHECK_THROWS_MATCHES(
      channel.flush(Deadline::after(20)), Error,
      Catch::Matchers::Message("deadline passed, " + std::to_string(message.size()) +
                               " bytes that this rank sent were not taken by rank 1"));
}

TEST_CASE("messages that were never sent are neither changed nor freed, and are counted") {
  for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kDense, test::kGtopk}) {
    const LeaksAllowed given_up;
    static std::vector<Sent> sent;  // static, so that the leak checker finds the messages
    sent.clear();
    sparsecollConfig_t config = test::config_of(mode);
    config.timeoutMs = 60;
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(std::make_unique<StuckTransport>(sent));
    Communicators ranks(std::move(transports), config);
    const size_t n = 50000;  // workspace of several blocks
    const auto send = test::make_data<float>(test::Kind::kHeavyTail, n, 0, 2, 1);
    std::vector<float> recv(n);
    const test::DenseCall<float> call{send.data(), recv.data(), n, n / 3};
    INFO(mode.name);
    CHECK(test::call_dense_verb(mode.verb, call, ranks.handle(0)) == sparsecollTimeout);
    REQUIRE_FALSE(sent.empty());
    CHECK(untouched(sent));
    // Later calls and the destruction of the communicator do not change the messages.
    CHECK(test::call_dense_verb(mode.verb, call, ranks.handle(0)) == sparsecollTimeout);
    size_t bytes = 0;
    for (const Sent& each : sent) bytes += each.bytes.size();
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    CHECK(sparsecollCommGetStats(ranks.handle(0), sparsecollStatsTotal, &stats) ==
          sparsecollSuccess);
    CHECK(stats.abandonedBytes >= bytes);
    CHECK(ranks.destroy(0) == sparsecollSuccess);
    CHECK(untouched(sent));
  }
}

}  // namespace
}  // namespace sparsecoll::unit
