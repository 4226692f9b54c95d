// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: peers that are missing or lost, interruption, and the end of a transport.

#include <thread>

#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

using std::chrono::milliseconds;
using unit::error_of;
using unit::ThrownError;

/// Sends to one peer and receives from it.
class Swap {
 public:
  Swap(StreamTransport& transport, int peer) : transport_(transport), peer_(peer) {}
  void exchange(const Deadline& deadline) {
    const StreamTransfer both[] = {{peer_, sent(out_), received(in_), true, true}};
    transport_.exchange(both, stream_, deadline);
  }
  const OwnStream& stream() const { return stream_; }

 private:
  StreamTransport& transport_;
  const int peer_;
  const DeviceArray<std::byte> out_{Payload(100)}, in_{100};
  const OwnStream stream_;
};

/// Calls `step` with a deadline of 100 ms. Throws unless `step` throws Timeout after that time.
template <class Step>
void expect_timeout(Step step, const std::string& part) {
  const Clock::time_point start = Clock::now();
  const ThrownError error = error_of([&] { step(Deadline::after(100)); });
  const double seconds = seconds_since(start);
  expect_error(error, sparsecollTimeout, part);
  expect(seconds > 0.1, text("Timeout after ", seconds, " s"));
  expect_within(0.1 + kAtOnce, seconds, "Timeout");
}

void missing_in_first_exchange(Rank& rank) {
  if (rank.size() < 2 || rank.rank() > 0) return;
  Swap swap(rank.transport(), 1);
  expect_timeout([&](const Deadline& deadline) { swap.exchange(deadline); },
                 rank.traits().messages.missing_peer);
  rank.transport().interrupt();
}

void missing_in_split(Rank& rank) {
  if (rank.size() < 2 || rank.rank() > 0) return;
  expect_timeout([&](const Deadline& deadline) { rank.transport().split(0, 0, deadline); },
                 rank.traits().messages.missing_in_split);
}

/// The last rank ends before the first exchange with it.
void lost_before_first_exchange(Rank& rank) {
  const int last = rank.size() - 1;
  if (rank.rank() == last) rank.transport().interrupt();
  rank.barrier();
  if (rank.rank() == last) return;
  const Clock::time_point start = Clock::now();
  Swap swap(rank.transport(), last);
  const ThrownError error = error_of([&] { swap.exchange(Deadline::after(100)); });
  expect_within(0.1 + kAtOnce, seconds_since(start), "the exchange ended");
  expect(error.code == sparsecollTimeout || error.code == sparsecollRemoteError ||
             error.code == sparsecollSystemError,
         text("exchange with a lost peer: ", error.code, " ", error.message));
  rank.transport().interrupt();
}

/// Rank 0 makes an exchange that no other rank makes.
void stuck_on_device(Rank& rank) {
  StreamTransport& transport = rank.transport();
  send_around(transport, 0);
  rank.barrier();
  if (rank.size() < 2 || rank.rank() > 0) return;
  const OwnStream stream;
  Ring ring(transport, 100);
  ring.exchange(stream);
  Clock::time_point start{};
  std::thread watchdog([&] {
    std::this_thread::sleep_for(milliseconds(50));
    start = Clock::now();
    transport.interrupt();
    transport.interrupt();
  });
  stream.wait();
  watchdog.join();
  expect_within(kAtOnce, seconds_since(start), "the exchange ended");
  expect_ended(rank);
}

/// Several threads interrupt rank 0 while it waits for connections.
void stuck_in_first_exchange(Rank& rank) {
  if (rank.size() < 2 || rank.rank() > 0) return;
  std::vector<std::thread> watchdogs;
  for (int i = 0; i < 3; ++i)
    watchdogs.emplace_back([&] {
      std::this_thread::sleep_for(milliseconds(50));
      rank.transport().interrupt();
    });
  Swap swap(rank.transport(), 1);
  const Clock::time_point start = Clock::now();
  const ThrownError error = error_of([&] { swap.exchange(no_deadline()); });
  const double seconds = seconds_since(start);
  for (std::thread& watchdog : watchdogs) watchdog.join();
  expect_within(0.05 + kAtOnce, seconds, "exchange() returned");
  expect_error(error, sparsecollInvalidUsage, rank.traits().messages.ended);
  expect_ended(rank);
}

/// Breaks rank 0. `step`, the next use of its transport, reports the error.
template <class Step>
void broken(Rank& rank, Step step) {
  StreamTransport& transport = rank.transport();
  send_around(transport, 0);
  transport.check();
  rank.barrier();
  if (rank.rank() == 0 && rank.break_peers())
    expect_error(error_of([&] { step(transport); }), sparsecollRemoteError,
                 rank.traits().messages.broken);
}

void broken_check(Rank& rank) {
  broken(rank, [](StreamTransport& transport) { transport.check(); });
}

void broken_exchange(Rank& rank) {
  broken(rank, [](StreamTransport& transport) {
    const OwnStream stream;
    Ring(transport, 100).exchange(stream);
  });
}

void interrupted_when_idle(Rank& rank) {
  send_around(rank.transport(), 0);
  rank.barrier();
  const Clock::time_point start = Clock::now();
  rank.transport().interrupt();
  expect_within(kAtOnce, seconds_since(start), "interrupt() returned");
  expect_ended(rank);
}

void closed(Rank& rank) {
  send_around(rank.transport(), 0);
  rank.transport().close(no_deadline());
  expect_ended(rank);
  rank.transport().interrupt();
  rank.transport().interrupt();
}

/// Leaves the transport to its destructor.
void destroyed_without_close(Rank& rank) { send_around(rank.transport(), 0); }

}  // namespace

std::vector<Case> ending_cases() {
  return {{"a peer is missing in the first exchange", missing_in_first_exchange, true},
          {"a peer is missing in a split", missing_in_split, true},
          {"a peer is lost before the first exchange", lost_before_first_exchange, true},
          {"interrupt() ends an exchange on the device", stuck_on_device, true},
          {"interrupt() ends the wait for connections", stuck_in_first_exchange, true},
          {"check() reports an error of the layer below", broken_check, true},
          {"exchange() reports an error of the layer below", broken_exchange, true},
          {"interrupt() of a transport that is idle", interrupted_when_idle, true},
          {"after close() only interrupt() is allowed", closed, true},
          {"a transport is destroyed without close()", destroyed_without_close, true}};
}

}  // namespace sparsecoll::stream_contract
