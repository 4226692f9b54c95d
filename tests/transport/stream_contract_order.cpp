// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: exchanges in the order of streams, events and graphs.

#include <atomic>
#include <thread>

#include "devices/graph.hpp"
#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

/// Sends a message around the ring. Each step forwards what the step before has received, and
/// the host waits only at the end.
void order_of_the_stream(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  Ring ring(transport, 5000);
  ring.put(0, stream);
  for (int step = 0; step < transport.size(); ++step) {
    ring.exchange(stream);
    ring.forward(stream);
    ring.wipe(stream);
  }
  ring.expect_to_send(0, stream);
}

/// Queues many exchanges without waiting for any.
void many_in_flight(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  constexpr int kCount = 60;
  std::vector<Ring> rings;
  rings.reserve(kCount);
  for (int number = 0; number < kCount; ++number) {
    rings.emplace_back(transport, static_cast<size_t>(100 + number));
    rings.back().put(number, stream);
  }
  for (Ring& ring : rings) ring.exchange(stream);
  for (int number = 0; number < kCount; ++number)
    rings[static_cast<size_t>(number)].expect_received(number, stream);
}

/// Even ranks queue the exchange before odd ranks do.
void no_wait_for_peers(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  Ring ring(transport, 1000);
  for (const int early : {0, 1}) {
    ring.put(early, stream);
    ring.exchange(stream);  // the first time, it connects the ranks
    ring.expect_received(early, stream);
    ring.put(early + 2, stream);
    if (transport.rank() % 2 != early) rank.barrier();
    const Clock::time_point start = Clock::now();
    ring.exchange(stream);
    const double seconds = seconds_since(start);
    if (transport.rank() % 2 == early) rank.barrier();
    expect_within(kAtOnce, seconds, "the exchange was queued");
    ring.expect_received(early + 2, stream);
  }
}

/// An event that orders the work of two streams.
class Event {
 public:
  Event() { devices::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// Makes later work on `second` wait for the work that is now on `first`.
  void order(cudaStream_t first, cudaStream_t second) const {
    devices::check(cudaEventRecord(event_, first));
    devices::check(cudaStreamWaitEvent(second, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Makes each step of the ring on another stream than the step before.
void order_of_events(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream streams[2];
  const Event events[2];
  Ring ring(transport, 5000);
  const int steps = 2 * transport.size();
  ring.put(0, streams[0]);
  for (int step = 0; step < steps; ++step) {
    const OwnStream& now = streams[step % 2];
    ring.exchange(now);
    ring.forward(now);
    ring.wipe(now);
    events[step % 2].order(now, streams[(step + 1) % 2]);
  }
  ring.expect_to_send(0, streams[steps % 2]);
}

void graphs(Rank& rank) {
  const OwnStream stream;
  Ring ring(rank.transport(), 777);
  ring.exchange(stream);  // connects the ranks, which a captured exchange cannot do
  const devices::Graph graph(stream, [&] { ring.exchange(stream); });
  for (int number = 1; number <= 20; ++number) {
    ring.put(number, stream);
    graph.launch(stream);
    ring.expect_received(number, stream);
  }
}

/// Checks for errors in another thread while this one makes exchanges.
void check_in_any_thread(Rank& rank) {
  StreamTransport& transport = rank.transport();
  std::atomic<bool> done{false};
  unit::ThrownError error;
  std::thread other([&] {
    error = unit::error_of([&] {
      for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(50))) transport.check();
    });
  });
  std::string wrong;
  try {
    for (int number = 0; number < 10; ++number) send_around(transport, number);
  } catch (const std::exception& failure) {
    wrong = failure.what();
  }
  done = true;
  other.join();
  expect(wrong.empty(), wrong);
  expect(error.code == sparsecollSuccess, error.message);
}

}  // namespace

std::vector<Case> order_cases() {
  return {{"exchanges in the order of a stream", order_of_the_stream},
          {"many exchanges in flight", many_in_flight},
          {"an exchange of connected ranks does not wait for peers", no_wait_for_peers},
          {"events order exchanges on two streams", order_of_events},
          {"an exchange in a graph that is launched again and again", graphs},
          {"check() in another thread", check_in_any_thread}};
}

}  // namespace sparsecoll::stream_contract
