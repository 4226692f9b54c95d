// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests messages over MPI whose last bytes may be in device memory: into which memory they are
// received. The device memory of this test is host memory, which every MPI accepts.

#include <cstdio>

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/test_messages.hpp"

namespace {

using namespace sparsecoll;
using sparsecoll::unit::same;
using sparsecoll::unit::test_message;

constexpr size_t kHostBytes = 64, kLarge = 65536;

std::unique_ptr<Transport> make(size_t chunk) {
  return make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {true, {}, chunk});
}

/// Waits until the messages have been sent.
void flush(Transport& transport) {
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

ReceivedMessage wait(Transport& transport) {
  for (;;) {
    if (auto received = transport.poll()) return std::move(*received);
    transport.idle(Clock::now());
  }
}

/// Sends a message in chunks. All but its first bytes may be in device memory.
void send(Transport& transport, int to, ConstBytes message) {
  const size_t device_bytes = message.size() - kHostBytes;
  transport.open(to, {message.size(), device_bytes});
  transport.send_chunk(to, message.first(kHostBytes));
  transport.send_chunk(to, message.subspan(kHostBytes, device_bytes / 2 + 1));
  if (device_bytes > 1)
    transport.send_chunk(to, message.subspan(kHostBytes + device_bytes / 2 + 1));
}

/// Large device bytes are received into the device memory if there is some, otherwise into host
/// memory. The chunks are longer than an MPI message.
void check_memory(test::Verdict& verdict) {
  const auto transport = make(5000);
  const int P = transport->size(), to = (transport->rank() + 1) % P;
  const auto memory = std::make_shared<Memory>();
  for (const bool has_memory : {false, true}) {
    if (has_memory) transport->set_device_memory(memory);
    for (const size_t device_bytes : {size_t{1}, kLarge - 1, kLarge, 3 * kLarge + 7}) {
      const auto message = test_message(kHostBytes + device_bytes, transport->rank(), device_bytes);
      transport->open(to, {kHostBytes + 2 * kLarge, 2 * kLarge});  // is cancelled
      transport->send_chunk(to, ConstBytes(message).first(kHostBytes));
      send(*transport, to, message);
      const ReceivedMessage received = wait(*transport);
      const bool on_device = has_memory && device_bytes >= kLarge;
      verdict.require("device bytes are in the memory where they belong",
                      received.device_tail.size() == (on_device ? device_bytes : 0));
      std::vector<std::byte> got(received.bytes.size() + received.device_tail.size());
      received.bytes.read(got.data());
      if (on_device) received.device_tail.read(got.data() + kHostBytes);
      verdict.require("together they are the message",
                      got == test_message(kHostBytes + device_bytes, received.peer, device_bytes));
      flush(*transport);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  const size_t before = memory->allocations();
  memory->fail_at(1);
  const auto message = test_message(kHostBytes + 9 * kLarge, transport->rank(), 1);
  send(*transport, to, message);
  {
    const ReceivedMessage received = wait(*transport);
    verdict.require(
        "if device memory runs out, all bytes are in host memory",
        memory->allocations() == before + 1 && received.device_tail.size() == 0 &&
            same(received.bytes, test_message(kHostBytes + 9 * kLarge, received.peer, 1)));
  }
  flush(*transport);
  transport->close();
}

/// A transport does not use device memory unless MPI accepts it.
void check_refused(test::Verdict& verdict) {
  const auto transport = make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000));
  const auto memory = std::make_shared<Memory>();
  transport->set_device_memory(memory);
  const auto message = test_message(kHostBytes + kLarge, transport->rank(), 2);
  send(*transport, (transport->rank() + 1) % transport->size(), message);
  verdict.require("all bytes are in host memory", wait(*transport).device_tail.size() == 0);
  verdict.require("no device memory is allocated", memory->allocations() == 0);
  flush(*transport);
  transport->close();
}

/// The receiver abandons its transport in the middle of a message.
void check_abandoned(test::Verdict& verdict) {
  const auto transport = make(1000);
  const auto memory = std::make_shared<Memory>();
  transport->set_device_memory(memory);
  const auto message = test_message(kHostBytes + kLarge, transport->rank(), 3);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->open(1, {message.size(), kLarge});
    transport->send_chunk(1, ConstBytes(message).first(kHostBytes));
    transport->send_chunk(1, ConstBytes(message).subspan(kHostBytes, 5000));
    flush(*transport);
  }
  if (transport->rank() == 1) {
    const Clock::time_point start = Clock::now();
    while (memory->allocations() == 0 || Clock::now() - start < std::chrono::milliseconds(100))
      verdict.require("the message is not complete", !transport->poll());
    bool touches_caller = true;
    transport->abandon(&touches_caller);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A chunk must not have both host bytes and device bytes.
void check_crossing(test::Verdict& verdict) {
  const auto transport = make(1000);
  transport->set_device_memory(std::make_shared<Memory>());
  const std::vector<std::byte> part(100);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->open(1, {kHostBytes + kLarge, kLarge});
    transport->send_chunk(1, part);
    flush(*transport);
  }
  std::string error;
  try {
    while (transport->rank() == 1 && !transport->poll()) transport->idle(Clock::now());
  } catch (const Error& caught) {
    error = caught.what();
  }
  verdict.require(
      "a chunk of both kinds is refused",
      transport->rank() != 1 || error == "rank 0 sent a chunk of 100 bytes, expected 64");
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_device_tail, rank ", rank), 1);
  test::Verdict verdict;
  try {
    check_memory(verdict);
    check_refused(verdict);
    check_abandoned(verdict);
    check_crossing(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_device_tail, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // other ranks may wait for this one
  }
  const int code = verdict.report("mpi_device_tail");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
