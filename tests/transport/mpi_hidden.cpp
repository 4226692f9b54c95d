// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Messages over MPI that are hidden in part: where that comes to at the other end. All memory here
// is the host's, which MPI takes in any case.

#include <cstdio>

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/test_messages.hpp"

namespace {

using namespace sparsecoll;
using sparsecoll::unit::same;
using sparsecoll::unit::test_message;

constexpr size_t kSeen = 64, kLarge = 65536;

std::unique_ptr<Transport> make(size_t chunk) {
  return make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {true, {}, chunk});
}

/// Lets the messages that were sent go. They belong to the transport until then.
void flush(Transport& transport) {
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

ReceivedMessage wait(Transport& transport) {
  for (;;) {
    if (auto arrived = transport.poll()) return std::move(*arrived);
    transport.idle(Clock::now());
  }
}

/// All but the first bytes of a letter are hidden, and sent in two parts.
void send(Transport& transport, int to, ConstBytes whole) {
  const size_t hidden = whole.size() - kSeen;
  transport.open(to, {whole.size(), hidden});
  transport.send_chunk(to, whole.first(kSeen));
  transport.send_chunk(to, whole.subspan(kSeen, hidden / 2 + 1));
  if (hidden > 1) transport.send_chunk(to, whole.subspan(kSeen + hidden / 2 + 1));
}

/// One that comes from the rank before comes apart where it is large and there is a place for it,
/// else with what is seen; parts cross the borders of chunks.
void check_place(test::Verdict& verdict) {
  const auto transport = make(5000);
  const int P = transport->size(), to = (transport->rank() + 1) % P;
  const auto memory = std::make_shared<Memory>();
  for (const bool has_place : {false, true}) {
    if (has_place) transport->set_device_memory(memory);
    for (const size_t hidden : {size_t{1}, kLarge - 1, kLarge, 3 * kLarge + 7}) {
      const auto whole = test_message(kSeen + hidden, transport->rank(), hidden);
      transport->open(to, {kSeen + 2 * kLarge, 2 * kLarge});  // is given up
      transport->send_chunk(to, ConstBytes(whole).first(kSeen));
      send(*transport, to, whole);
      const ReceivedMessage arrived = wait(*transport);
      const bool apart = has_place && hidden >= kLarge;
      verdict.require("a hidden part comes where it belongs",
                      arrived.device_tail.size() == (apart ? hidden : 0));
      std::vector<std::byte> got(arrived.bytes.size() + arrived.device_tail.size());
      arrived.bytes.read(got.data());
      if (apart) arrived.device_tail.read(got.data() + kSeen);
      verdict.require("together they are the letter",
                      got == test_message(kSeen + hidden, arrived.peer, hidden));
      flush(*transport);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  const size_t before = memory->allocations();
  memory->fail_at(1);
  const auto whole = test_message(kSeen + 9 * kLarge, transport->rank(), 1);
  send(*transport, to, whole);
  {
    const ReceivedMessage arrived = wait(*transport);
    verdict.require("where there is no memory all come together",
                    memory->allocations() == before + 1 && arrived.device_tail.size() == 0 &&
                        same(arrived.bytes, test_message(kSeen + 9 * kLarge, arrived.peer, 1)));
  }
  flush(*transport);
  transport->close();
}

/// A transport that was not told that MPI takes memory of devices does not use it.
void check_refused(test::Verdict& verdict) {
  const auto transport = make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000));
  const auto memory = std::make_shared<Memory>();
  transport->set_device_memory(memory);
  const auto whole = test_message(kSeen + kLarge, transport->rank(), 2);
  send(*transport, (transport->rank() + 1) % transport->size(), whole);
  verdict.require("no memory of a device", wait(*transport).device_tail.size() == 0);
  verdict.require("none is asked for", memory->allocations() == 0);
  flush(*transport);
  transport->close();
}

/// The receiver gives up in the middle of a message.
void check_abandoned(test::Verdict& verdict) {
  const auto transport = make(1000);
  const auto memory = std::make_shared<Memory>();
  transport->set_device_memory(memory);
  const auto whole = test_message(kSeen + kLarge, transport->rank(), 3);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->open(1, {whole.size(), kLarge});
    transport->send_chunk(1, ConstBytes(whole).first(kSeen));
    transport->send_chunk(1, ConstBytes(whole).subspan(kSeen, 5000));
    flush(*transport);
  }
  if (transport->rank() == 1) {
    const Clock::time_point start = Clock::now();
    while (memory->allocations() == 0 || Clock::now() - start < std::chrono::milliseconds(100))
      verdict.require("a part of a message is none", !transport->poll());
    bool touches_caller = true;
    transport->abandon(&touches_caller);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A chunk must not cross the border in front of what is hidden.
void check_crossing(test::Verdict& verdict) {
  const auto transport = make(1000);
  transport->set_device_memory(std::make_shared<Memory>());
  const std::vector<std::byte> part(100);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->open(1, {kSeen + kLarge, kLarge});
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
      "a chunk that is hidden in part is refused",
      transport->rank() != 1 || error == "rank 0 sent a chunk of 100 bytes, expected 64");
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_hidden, rank ", rank), 1, std::chrono::seconds(100));
  test::Verdict verdict;
  try {
    check_place(verdict);
    check_refused(verdict);
    check_abandoned(verdict);
    check_crossing(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_hidden, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this rank
  }
  const int code = verdict.report("mpi_hidden");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
