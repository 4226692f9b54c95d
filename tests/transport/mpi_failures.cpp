// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests failures of the transport over MPI: transports that are abandoned in the middle of a
// message, MPI calls that fail, messages in a wrong form. With SPARSECOLL_TEST_LARGE=1 and 8 GB of
// free memory, it also sends a message of more than 2^31 bytes.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/checksum.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi_eager.hpp"
#include "transport/test_messages.hpp"

namespace {

int chunks_to_send = -1;  // later chunks are never sent; -1: no limit
bool nothing_completes = false;
bool announce_too_little = false;
bool sends_fail = false;
int short_chunk = -1;           // the index of an eager chunk that is cut short
int eager_chunks_to_send = -1;  // later chunks are never sent; -1: no limit
bool one_fails = false;         // the next request that completes fails

}  // namespace

// These replace MPI's functions and inject faults.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (sends_fail) return MPI_ERR_OTHER;
  if (short_chunk >= 0 && short_chunk-- == 0) count -= 100;
  if (eager_chunks_to_send == 0)
    return PMPI_Isend(data, 0, type, MPI_PROC_NULL, tag, comm, request);
  if (eager_chunks_to_send > 0) --eager_chunks_to_send;
  // An announced message consists of an empty MPI message, the size, and chunks.
  static const uint64_t too_little = 1500;
  static bool size_follows = false;
  static uint64_t bytes_follow = 0;
  if (bytes_follow > 0) {
    bytes_follow = count == 0 ? 0 : bytes_follow - static_cast<uint64_t>(count);  // 0: cancelled
    if (chunks_to_send == 0) return PMPI_Isend(data, 0, type, MPI_PROC_NULL, tag, comm, request);
    if (chunks_to_send > 0) --chunks_to_send;
  } else if (size_follows) {
    size_follows = false;
    std::memcpy(&bytes_follow, data, sizeof bytes_follow);
    if (announce_too_little) data = &too_little;
  } else {
    size_follows = count == 0;
  }
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  *done = 0;
  if (nothing_completes) return MPI_SUCCESS;
  const int code = PMPI_Test(request, done, status);
  return *done && std::exchange(one_fails, false) ? MPI_ERR_OTHER : code;
}

namespace {

using namespace sparsecoll;
using sparsecoll::unit::same;
using sparsecoll::unit::test_message;

std::unique_ptr<Transport> make(size_t chunk, bool eager = false) {
  return make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {false, eager, chunk});
}

/// Waits until the messages have been sent.
void flush(Transport& transport) {
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

/// Returns the error that rank 1 gets when it receives a message, "" on other ranks.
std::string error_of_rank_1(Transport& transport) {
  try {
    while (transport.rank() == 1 && !transport.poll()) transport.idle(Clock::now());
  } catch (const Error& caught) {
    return caught.what();
  }
  return "";
}

/// Only the last eager chunk may be short.
void check_short_chunk(test::Verdict& verdict) {
  const auto transport = make(kMaxMpiMessage, true);
  const std::vector<std::byte> message = test_message(3 * kEagerBytes, 0, 5);
  if (transport->rank() == 0 && transport->size() > 1) {
    short_chunk = 1;
    transport->send(1, message);
    short_chunk = -1;
    flush(*transport);
  }
  const std::string error = error_of_rank_1(*transport);
  verdict.require("an eager chunk that is too short is refused",
                  transport->rank() != 1 ||
                      error == "rank 0 sent an eager chunk of 61340 bytes, expected 61440");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 0 abandons its transport while it sends a large message; rank 1 then receives the message.
void check_abandon(test::Verdict& verdict) {
  const auto transport = make(1 << 22);
  static const std::vector<std::byte> large = test_message(30 << 20, 0, 1);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->send(1, large);
    bool touches_caller = false;
    const size_t unsent = transport->unsent();
    verdict.require("the message is being sent", unsent > 0);
    verdict.require("to its peer", transport->unsent_to(1) == unsent);
    verdict.require("and to nobody else", transport->unsent_to(0) == 0);
    const Clock::time_point start = Clock::now();
    transport->abandon(&touches_caller);
    verdict.require("it touches the caller's memory", touches_caller);
    verdict.require("abandon() does not wait", Clock::now() - start < std::chrono::seconds(1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (transport->rank() == 1) {
    std::optional<ReceivedMessage> arrived;
    while (!(arrived = transport->poll())) transport->idle(Clock::now());
    verdict.require("the message is received, whole", same(arrived->bytes, large));
  }
  // The other ranks wait until rank 1 has received what MPI still moves.
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The receiver abandons its transport in the middle of a message. If MPI may still write to the
/// message's memory (`busy`), it is leaked; if no receive is pending, it is freed.
void check_abandoned_receive(test::Verdict& verdict, bool busy) {
  const auto transport = make(1000);
  static const std::vector<std::byte> message = test_message(10000, 0, 2);
  if (transport->rank() == 0 && transport->size() > 1) {
    chunks_to_send = busy ? -1 : 5;
    transport->send(1, message);
    chunks_to_send = -1;
    flush(*transport);
  }
  if (transport->rank() == 1) {
    nothing_completes = busy;
    const Clock::time_point start = Clock::now();
    while (transport->memory().allocations() == 0 ||
           Clock::now() - start < std::chrono::milliseconds(100))
      verdict.require("the message is not complete", !transport->poll());
    const size_t in_use = transport->memory().bytes_in_use();
    bool touches_caller = true;
    const size_t given_up = transport->abandon(&touches_caller);
    nothing_completes = false;
    verdict.require("memory that MPI may touch is counted", given_up == (busy ? in_use : 0));
    verdict.require("and is not freed", transport->memory().bytes_in_use() == in_use);
    verdict.require("no memory of the caller is touched", !touches_caller);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Does the same with an eager message whose later chunks are never sent.
void check_abandoned_eager(test::Verdict& verdict) {
  const auto transport = make(kMaxMpiMessage, true);
  static const std::vector<std::byte> message = test_message(300000, 0, 6);
  if (transport->rank() == 1) {
    const Clock::time_point start = Clock::now();
    while (transport->memory().allocations() == 0 ||
           Clock::now() - start <
               std::chrono::milliseconds(100))  // so that the first chunk is received
      verdict.require("the first chunk is not the message", !transport->poll());
    const size_t in_use = transport->memory().bytes_in_use();
    bool touches_caller = true;
    verdict.require("memory that MPI may touch is counted",
                    transport->abandon(&touches_caller) == in_use);
    verdict.require("no memory of the caller is touched", !touches_caller);
  } else if (transport->rank() == 0 && transport->size() > 1) {
    eager_chunks_to_send = 1;
    transport->send(1, message);
    eager_chunks_to_send = -1;
    flush(*transport);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A message longer than announced is an error, and nothing is written beyond its buffer.
void check_false_announcement(test::Verdict& verdict) {
  const auto transport = make(1000);
  const std::vector<std::byte> message = test_message(2000, 0, 3);
  if (transport->rank() == 0 && transport->size() > 1) {
    announce_too_little = true;
    transport->send(1, message);
    announce_too_little = false;
    flush(*transport);
  }
  const std::string error = error_of_rank_1(*transport);
  verdict.require(
      "a chunk that is too long is refused",
      transport->rank() != 1 || error == "rank 0 sent a chunk of 1000 bytes, expected 500");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// If MPI cannot reach a peer, the error names the peer and has MPI's text.
void check_failed_send(test::Verdict& verdict) {
  const auto transport = make(1000);
  const int peer = (transport->rank() + 1) % transport->size();
  const std::vector<std::byte> message = test_message(20, 0, 4);
  sends_fail = true;
  try {
    transport->send(peer, message);
    verdict.require("a send that fails is an error", false);
  } catch (const Error& caught) {
    verdict.require(
        "it names the peer",
        caught.code() == sparsecollRemoteError &&
            std::string(caught.what()).starts_with(text("a send to rank ", peer, " failed: ")));
  }
  sends_fail = false;
  transport->close();
}

/// MPI notices that a peer is gone while a message is in flight. (Not with one rank: a message to
/// itself may wait for its receive.)
void check_failed_request(test::Verdict& verdict) {
  const auto transport = make(1000);
  if (transport->size() == 1) return;
  const int P = transport->size(), peer = (transport->rank() + 1) % P;
  const std::vector<std::byte> message = test_message(20, 0, 7);
  std::string error;
  const auto failing = [&](auto&& work) {
    error.clear();
    one_fails = true;
    try {
      const Clock::time_point limit = Clock::now() + std::chrono::seconds(30);
      while (one_fails && Clock::now() < limit) work();
    } catch (const Error& caught) {
      error = caught.what();
      verdict.require("the error is the peer's", caught.code() == sparsecollRemoteError);
    }
    one_fails = false;
  };
  transport->send(peer, message);
  failing([&] { transport->unsent(); });
  verdict.require("a send that fails later names its peer",
                  error.starts_with(text("a send to rank ", peer, " failed: ")));
  verdict.require("its bytes are no longer unsent", transport->unsent() == 0);
  failing([&] { transport->poll(); });
  verdict.require("a receive that fails names its peer",
                  error.starts_with(text("a receive from rank ", (peer + P - 2) % P, " failed: ")));
  MPI_Barrier(MPI_COMM_WORLD);
}

size_t free_gigabytes() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  size_t kilobytes = 0;
  while (info >> name >> kilobytes) {
    if (name == "MemAvailable:") return kilobytes >> 20;
    info.ignore(100, '\n');
  }
  return 0;
}

/// Returns the decision of rank 0: whether to send a message of more than 2^31 bytes.
bool large_wanted() {
  const char* wish = std::getenv("SPARSECOLL_TEST_LARGE");
  int wanted = wish && std::string(wish) == "1" && free_gigabytes() >= 8;
  MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return wanted != 0;
}

void check_large(test::Verdict& verdict) {
  constexpr size_t kWords = (size_t{1} << 28) + 4321;  // a little more than 2^31 bytes
  const auto transport = make(kMaxMpiMessage);
  if (transport->rank() == 0 && transport->size() > 1) {
    std::vector<uint64_t> words(kWords);
    for (size_t i = 0; i < kWords; ++i) words[i] = mix(i);
    transport->send(1, std::as_bytes(std::span(words)));
    flush(*transport);
  }
  if (transport->rank() == 1) {
    std::optional<ReceivedMessage> arrived;
    while (!(arrived = transport->poll())) transport->idle(Clock::now());
    verdict.require("its length", arrived->bytes.size() == kWords * 8);
    size_t wrong = 0;
    for (size_t i = 0; i < kWords; ++i) {
      uint64_t word;
      std::memcpy(&word, arrived->bytes.data() + i * 8, 8);
      wrong += word != mix(i);
    }
    verdict.require("a message above 2^31 bytes", wrong == 0);
  }
  transport->close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_failures, rank ", rank), 1);
  test::Verdict verdict;
  try {
    check_abandon(verdict);
    for (const bool busy : {false, true}) check_abandoned_receive(verdict, busy);
    check_abandoned_eager(verdict);
    check_false_announcement(verdict);
    check_short_chunk(verdict);
    check_failed_send(verdict);
    check_failed_request(verdict);
    if (large_wanted()) check_large(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_failures, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // other ranks may wait for this one
  }
  const int code = verdict.report("mpi_failures");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
