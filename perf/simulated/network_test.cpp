// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the simulated network. The expected times are computed by hand.

#include "simulated/network.hpp"

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "support/catch.hpp"

namespace sparsecoll::perf {
namespace {

/// Returns a model with round numbers: a byte takes 1 s on a link.
NetworkModel slow_network() {
  NetworkModel model;
  model.rate = 8;
  model.latency = 1000;
  model.overhead = 0;
  model.compute = false;
  return model;
}

using RankBody = std::function<void(int rank, Transport& transport, VirtualTime& time)>;
/// Runs body(rank, transport, time) on a thread for each rank.
void run(int ranks, const NetworkModel& model, const RankBody& body) {
  VirtualTime time(ranks, 0);
  auto transports = make_simulated_transports(time, ranks, model);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      time.start(rank);
      auto& own = transports[static_cast<size_t>(rank)];
      body(rank, *own, time);
      time.barrier(rank);
      own.reset();
      time.finish(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Waits for the next message.
ReceivedMessage receive(Transport& transport) {
  for (;;) {
    if (auto arrived = transport.poll()) return std::move(*arrived);
    transport.idle(Clock::time_point::max());
  }
}

std::vector<std::byte> bytes(size_t n) { return std::vector<std::byte>(n, std::byte{7}); }

TEST_CASE("a message takes the latency and its bytes' time on the links") {
  const auto message = bytes(50);
  double came = 0, left = 0;
  run(2, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      transport.send(1, message);
      while (transport.unsent() > 0) transport.idle(Clock::time_point::max());
      left = time.now(0);
    } else {
      const ReceivedMessage arrived = receive(transport);
      CHECK(arrived.peer == 0);
      CHECK(arrived.bytes.size() == 50);
      came = time.now(1);
    }
  });
  CHECK(left == 50);
  CHECK(came == 1050);
}

TEST_CASE("messages share the link of their sender and the link of their receiver") {
  const auto message = bytes(100);
  std::vector<double> came;
  run(4, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 1 || rank == 2) transport.send(3, message);
    if (rank == 0) {
      transport.send(1, message);
      transport.send(3, message);
    }
    if (rank == 3) {
      for (int i = 0; i < 3; ++i) {
        receive(transport);
        came.push_back(time.now(3));
      }
    }
    if (rank == 1) {
      receive(transport);
      CHECK(time.now(1) == 1100);
    }
  });
  // Rank 0's second message starts at 100 and finds the link busy until 1200.
  CHECK(came == std::vector<double>{1100, 1200, 1300});
}

TEST_CASE("processors are charged for messages and their bytes, at both ends") {
  NetworkModel model = slow_network();
  model.overhead = 10;
  model.byte_overhead = 0.5;
  const auto message = bytes(20);
  run(2, model, [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      transport.send(1, message);
      CHECK(time.now(0) == 20);
    } else {
      receive(transport);
      CHECK(time.now(1) == 20 + 1000 + 20 + 20);
    }
  });
}

TEST_CASE("no message overtakes another of its sender, on the link or in memory") {
  for (const int sharing : {1, 2}) {
    NetworkModel model = slow_network();
    model.ranks_per_node = sharing;
    run(2, model, [&](int rank, Transport& transport, VirtualTime&) {
      if (rank == 0) {
        transport.send(1, bytes(100000));
        transport.send(1, bytes(1));
      } else {
        CHECK(receive(transport).bytes.size() == 100000);
        CHECK(receive(transport).bytes.size() == 1);
      }
    });
  }
}

TEST_CASE("ranks of one node use no link") {
  NetworkModel model = slow_network();
  model.ranks_per_node = 2;
  const auto message = bytes(1000);
  run(4, model, [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      transport.send(1, message);
      transport.send(2, message);
    }
    if (rank == 1) transport.send(2, message);  // this message takes the same link
    if (rank == 1) {
      receive(transport);
      CHECK(std::abs(time.now(1) - (1000 * kSharedByte + kSharedLatency)) < 1e-9);
    }
    if (rank == 2) {
      receive(transport);
      CHECK(time.now(2) == 2000);
      receive(transport);
      CHECK(time.now(2) == 3000);
    }
  });
}

TEST_CASE("chunks are sent at once; an abandoned message never arrives") {
  const auto part = bytes(100);
  run(2, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      transport.open(1, 300);
      transport.send_chunk(1, part);
      time.advance(0, 500);
      transport.send_chunk(1, part);
      time.advance(0, 500);
      transport.send_chunk(1, part);
      transport.open(1, 300);
      transport.send_chunk(1, part);
      transport.send(1, part);
    } else {
      CHECK(receive(transport).bytes.size() == 300);
      CHECK(time.now(1) == 1000 + 1000 + 100);
      CHECK(receive(transport).bytes.size() == 100);
      CHECK(time.now(1) == 2300);
    }
  });
}

TEST_CASE("many messages arrive in the order of virtual time, the same in every run") {
  std::vector<std::vector<double>> runs;
  for (int round = 0; round < 2; ++round) {
    std::vector<double> came;
    run(5, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
      if (rank == 4) {
        for (int i = 0; i < 200; ++i) {
          const ReceivedMessage arrived = receive(transport);
          came.push_back(time.now(4) * 10 + arrived.peer);
        }
        return;
      }
      for (int i = 0; i < 50; ++i) {
        time.advance(rank, (i * 7 + rank * 13) % 31);
        transport.send(4, bytes(static_cast<size_t>(1 + (i + rank) % 5)));
      }
    });
    CHECK(std::ranges::is_sorted(came, {}, [](double each) { return std::floor(each / 10); }));
    runs.push_back(came);
  }
  CHECK(runs[0] == runs[1]);
}

TEST_CASE("a peer is gone after it left and its last message was received") {
  const auto message = bytes(5);
  run(3, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      transport.send(1, message);
      transport.close();
    }
    if (rank != 1) return;
    CHECK_FALSE(transport.gone(0));
    CHECK(receive(transport).peer == 0);
    CHECK(time.now(1) == 1005);
    while (!transport.gone(0)) transport.idle(Clock::time_point::max());
    CHECK_FALSE(transport.poll().has_value());
  });
}

TEST_CASE("poll finds a message that a rank of the same node sent earlier in virtual time") {
  NetworkModel model = slow_network();
  model.ranks_per_node = 2;
  const auto message = bytes(1);
  run(2, model, [&](int rank, Transport& transport, VirtualTime& time) {
    if (rank == 0) {
      time.advance(0, 10);
      transport.send(1, message);
    } else {
      time.advance(1, 40);
      CHECK(transport.poll().has_value());
    }
  });
}

TEST_CASE("the ranks of a split use the same links") {
  run(3, slow_network(), [&](int rank, Transport& transport, VirtualTime& time) {
    const std::vector<RankAddress> members{{2, 0}, {0, 0}};
    if (rank == 1) return;
    const auto part = transport.split(members, 5);
    CHECK(part->rank() == (rank == 2 ? 0 : 1));
    CHECK(part->size() == 2);
    const auto message = bytes(10);
    if (rank == 2) {
      part->send(1, message);
      transport.send(0, message);
    } else {
      CHECK(receive(*part).peer == 0);
      CHECK(time.now(0) == 1010);
      CHECK(receive(transport).peer == 2);
      CHECK(time.now(0) == 1020);
    }
  });
}

TEST_CASE("prepare() runs the work of every rank, takes no time and ends at the same time") {
  std::atomic<int> done{0};
  std::vector<double> ended(5);
  std::atomic<bool> early{false};
  run(5, slow_network(), [&](int rank, Transport&, VirtualTime& time) {
    for (int round = 1; round <= 3; ++round) {
      time.advance(rank, rank);
      time.prepare(rank, [&] { ++done; });
      if (done != 5 * round) early = true;
      time.barrier(rank);
    }
    ended[static_cast<size_t>(rank)] = time.now(rank);
  });
  CHECK(done == 15);
  CHECK_FALSE(early);
  CHECK(ended == std::vector<double>(5, 12));
}

}  // namespace
}  // namespace sparsecoll::perf
