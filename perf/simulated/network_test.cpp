// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The simulated network against times that were worked out by hand.

#include "simulated/network.hpp"

#include <cmath>
#include <functional>
#include <thread>

#include "support/catch.hpp"

namespace sparsecoll::perf {
namespace {

/// Round numbers: a byte takes 1 s on a link.
NetworkModel slow_network() {
  NetworkModel model;
  model.rate = 8;
  model.latency = 1000;
  model.overhead = 0;
  model.compute = false;
  return model;
}

/// Runs body(rank, transport, turns) on a thread for each rank.
using RankBody = std::function<void(int rank, Transport& transport, Turns& turns)>;
void run(int ranks, const NetworkModel& model, const RankBody& body) {
  Turns turns(ranks, 0);
  auto transports = make_simulated_transports(turns, ranks, model);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      turns.begin(rank);
      auto& own = transports[static_cast<size_t>(rank)];
      body(rank, *own, turns);
      turns.meet(rank);
      own.reset();
      turns.end(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

/// The next message that comes, and when.
ReceivedMessage receive(Transport& transport) {
  for (;;) {
    if (auto arrived = transport.poll()) return std::move(*arrived);
    transport.idle(Clock::time_point::max());
  }
}

std::vector<std::byte> bytes(size_t n) { return std::vector<std::byte>(n, std::byte{7}); }

TEST_CASE("a message takes the latency and its bytes' time on the links") {
  const auto letter = bytes(50);
  double came = 0, left = 0;
  run(2, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      transport.send(1, letter);
      while (transport.unsent() > 0) transport.idle(Clock::time_point::max());
      left = turns.now(0);
    } else {
      const ReceivedMessage arrived = receive(transport);
      CHECK(arrived.peer == 0);
      CHECK(arrived.bytes.size() == 50);
      came = turns.now(1);
    }
  });
  CHECK(left == 50);
  CHECK(came == 1050);
}

TEST_CASE("messages of one sender share its link, those to one receiver that one's") {
  const auto letter = bytes(100);
  std::vector<double> came;
  run(4, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 1 || rank == 2) transport.send(3, letter);
    if (rank == 0) {
      transport.send(1, letter);
      transport.send(3, letter);
    }
    if (rank == 3) {
      for (int i = 0; i < 3; ++i) {
        receive(transport);
        came.push_back(turns.now(3));
      }
    }
    if (rank == 1) {
      receive(transport);
      CHECK(turns.now(1) == 1100);
    }
  });
  // Rank 0's second message starts at 100 and finds the link busy until 1200.
  CHECK(came == std::vector<double>{1100, 1200, 1300});
}

TEST_CASE("processors are charged for messages and their bytes, at both ends") {
  NetworkModel model = slow_network();
  model.overhead = 10;
  model.byte_overhead = 0.5;
  const auto letter = bytes(20);
  run(2, model, [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      transport.send(1, letter);
      CHECK(turns.now(0) == 20);
    } else {
      receive(transport);
      CHECK(turns.now(1) == 20 + 1000 + 20 + 20);
    }
  });
}

TEST_CASE("no message overtakes another of its sender, on the link or in memory") {
  for (const int sharing : {1, 2}) {
    NetworkModel model = slow_network();
    model.ranks_per_node = sharing;
    run(2, model, [&](int rank, Transport& transport, Turns&) {
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
  const auto letter = bytes(1000);
  run(4, model, [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      transport.send(1, letter);
      transport.send(2, letter);
    }
    if (rank == 1) transport.send(2, letter);  // by the same link
    if (rank == 1) {
      receive(transport);
      CHECK(std::abs(turns.now(1) - (1000 * kSharedByte + kSharedLatency)) < 1e-9);
    }
    if (rank == 2) {
      receive(transport);
      CHECK(turns.now(2) == 2000);
      receive(transport);
      CHECK(turns.now(2) == 3000);
    }
  });
}

TEST_CASE("parts go on their way when they are there; what is given up never arrives") {
  const auto part = bytes(100);
  run(2, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      transport.open(1, 300);
      transport.send_chunk(1, part);
      turns.pass(0, 500);
      transport.send_chunk(1, part);
      turns.pass(0, 500);
      transport.send_chunk(1, part);
      transport.open(1, 300);
      transport.send_chunk(1, part);
      transport.send(1, part);
    } else {
      CHECK(receive(transport).bytes.size() == 300);
      CHECK(turns.now(1) == 1000 + 1000 + 100);
      CHECK(receive(transport).bytes.size() == 100);
      CHECK(turns.now(1) == 2300);
    }
  });
}

TEST_CASE("many messages come in the order of virtual time, run by run") {
  std::vector<std::vector<double>> runs;
  for (int round = 0; round < 2; ++round) {
    std::vector<double> came;
    run(5, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
      if (rank == 4) {
        for (int i = 0; i < 200; ++i) {
          const ReceivedMessage arrived = receive(transport);
          came.push_back(turns.now(4) * 10 + arrived.peer);
        }
        return;
      }
      for (int i = 0; i < 50; ++i) {
        turns.pass(rank, (i * 7 + rank * 13) % 31);
        transport.send(4, bytes(static_cast<size_t>(1 + (i + rank) % 5)));
      }
    });
    CHECK(std::ranges::is_sorted(came, {}, [](double each) { return std::floor(each / 10); }));
    runs.push_back(came);
  }
  CHECK(runs[0] == runs[1]);
}

TEST_CASE("what a rank sent before it left still comes, and then it is known to be gone") {
  const auto letter = bytes(5);
  run(3, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      transport.send(1, letter);
      transport.close();
    }
    if (rank != 1) return;
    CHECK_FALSE(transport.gone(0));
    CHECK(receive(transport).peer == 0);
    CHECK(turns.now(1) == 1005);
    while (!transport.gone(0)) transport.idle(Clock::time_point::max());
    CHECK_FALSE(transport.poll().has_value());
  });
}

TEST_CASE("who polls hears of what a rank of its node sent before, in virtual time") {
  NetworkModel model = slow_network();
  model.ranks_per_node = 2;
  const auto letter = bytes(1);
  run(2, model, [&](int rank, Transport& transport, Turns& turns) {
    if (rank == 0) {
      turns.pass(0, 10);
      transport.send(1, letter);
    } else {
      turns.pass(1, 40);
      CHECK(transport.poll().has_value());
    }
  });
}

TEST_CASE("a part of the ranks talks over the same links") {
  run(3, slow_network(), [&](int rank, Transport& transport, Turns& turns) {
    const std::vector<RankAddress> members{{2, 0}, {0, 0}};
    if (rank == 1) return;
    const auto part = transport.split(members, 5);
    CHECK(part->rank() == (rank == 2 ? 0 : 1));
    CHECK(part->size() == 2);
    const auto letter = bytes(10);
    if (rank == 2) {
      part->send(1, letter);
      transport.send(0, letter);
    } else {
      CHECK(receive(*part).peer == 0);
      CHECK(turns.now(0) == 1010);
      CHECK(receive(transport).peer == 2);
      CHECK(turns.now(0) == 1020);
    }
  });
}

}  // namespace
}  // namespace sparsecoll::perf
