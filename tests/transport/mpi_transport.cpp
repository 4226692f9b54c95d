// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Bytes between processes over MPI: every size around the borders of chunks and pieces, order, many
// messages under way at once, an end in the middle of a message. With SPARSECOLL_TEST_LARGE=1 and 8
// GB of free memory also one message above 2^31 bytes.

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <utility>

#include "core/checksum.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi_eager.hpp"
#include "transport/test_messages.hpp"

namespace {

int chunks_to_send = -1;  // all of them
bool nothing_completes = false;
bool announce_too_little = false;
bool sends_fail = false;
int short_piece = -1;     // that one of a message in pieces comes to its end too early
int pieces_to_send = -1;  // all of them
bool one_fails = false;   // the next request that is done

}  // namespace

// These take the place of MPI's own: further chunks are never sent, requests never complete.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (sends_fail) return MPI_ERR_OTHER;
  if (short_piece >= 0 && short_piece-- == 0) count -= 100;
  if (pieces_to_send == 0) return PMPI_Isend(data, 0, type, MPI_PROC_NULL, tag, comm, request);
  if (pieces_to_send > 0) --pieces_to_send;
  // An empty message, the size, chunks.
  static const uint64_t too_little = 1500;
  static bool size_follows = false;
  static uint64_t bytes_follow = 0;
  if (bytes_follow > 0) {
    bytes_follow = count == 0 ? 0 : bytes_follow - static_cast<uint64_t>(count);  // 0: given up
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
using Sizes = std::function<size_t(uint64_t number)>;

std::unique_ptr<Transport> make(size_t chunk, bool in_pieces = false) {
  return make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {false, in_pieces, chunk});
}

/// Lets the messages that were sent go. They belong to the transport until then.
void flush(Transport& transport) {
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

/// What rank 1 is told when it takes in a message; "" on others.
std::string error_of_rank_1(Transport& transport) {
  try {
    while (transport.rank() == 1 && !transport.poll()) transport.idle(Clock::now());
  } catch (const Error& caught) {
    return caught.what();
  }
  return "";
}

/// Every rank sends `count` letters to all, itself too, `burst` at a time, and takes in what all
/// send, in order.
std::string all_to_all(Transport& transport, uint64_t count, uint64_t burst, const Sizes& size) {
  const auto P = static_cast<uint64_t>(transport.size());
  std::deque<std::vector<std::byte>> letters;
  std::vector<uint64_t> next(P);
  uint64_t sent = 0, missing = count * P;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(60);
  while (missing > 0) {
    if (Clock::now() > limit) fail(sparsecollTimeout, missing, " letters did not come");
    for (uint64_t i = 0; i < burst && sent < count; ++i, ++sent) {
      for (uint64_t to = 0; to < P; ++to) {
        letters.push_back(test_message(size(sent), transport.rank(), sent));
        transport.send(static_cast<int>(to), letters.back());
      }
    }
    while (const auto arrived = transport.poll()) {
      uint64_t& number = next[static_cast<size_t>(arrived->peer)];
      if (!same(arrived->bytes, test_message(size(number), arrived->peer, number)))
        fail(sparsecollInternalError, "what came from rank ", arrived->peer, " is not letter ",
             number, " of ", size(number), " bytes, but one of ", arrived->bytes.size());
      ++number;
      --missing;
    }
    transport.idle(Clock::now());
  }
  flush(transport);
  const bool more = transport.poll().has_value();
  MPI_Barrier(MPI_COMM_WORLD);  // nobody starts the next exchange before all have ended this one
  return more ? "more came than was sent" : "";
}

void check_chunks(test::Verdict& verdict) {
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}, size_t{4096}, size_t{1} << 20}) {
    const auto transport = make(chunk);
    const auto around = [chunk](uint64_t number) {
      const size_t borders[] = {
          0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, 5 * chunk + 3, 9 * chunk};
      return borders[number % 9];
    };
    const std::string what = text("chunks of ", chunk, " bytes");
    verdict.check(what + ", one by one", all_to_all(*transport, 27, 1, around));
    verdict.check(what + ", at once", all_to_all(*transport, 18, 18, around));
    transport->close();
  }
}

/// A rank that sends in pieces and one that does not understand each other.
void check_pieces(test::Verdict& verdict) {
  constexpr size_t kRest = kEagerBytes + 1, kLongest = kEagerBytes + kMaxEagerChunks * kRest;
  const size_t borders[] = {kEagerBytes - 1,
                            kEagerBytes,
                            kEagerBytes + 1,
                            kEagerBytes + 2,
                            kEagerBytes + kMaxEagerChunks,
                            kEagerBytes + kMaxEagerChunks + 1,
                            kEagerBytes + kRest - 1,
                            kEagerBytes + kRest,
                            kEagerBytes + kRest + 1,
                            kEagerBytes + 2 * kRest,
                            kEagerBytes + 2 * kRest + 1,
                            kLongest - 1,
                            kLongest,
                            kLongest + 1,
                            0,
                            70000};
  const auto around = [&](uint64_t number) { return borders[number % std::size(borders)]; };
  const int rank = test::rank_in(MPI_COMM_WORLD);
  for (const int in_pieces : {0, 1, 2}) {
    const auto transport = make(kMaxMpiMessage, in_pieces == 1 || (in_pieces == 2 && rank == 0));
    const std::string what = text("pieces, way ", in_pieces);
    verdict.check(what + ", one by one", all_to_all(*transport, std::size(borders), 1, around));
    verdict.check(what + ", at once",
                  all_to_all(*transport, 2 * std::size(borders), 2 * std::size(borders), around));
    transport->close();
  }
}

/// A piece that is not the last one has to be whole.
void check_short_piece(test::Verdict& verdict) {
  const auto transport = make(kMaxMpiMessage, true);
  const std::vector<std::byte> message = test_message(3 * kEagerBytes, 0, 5);
  if (transport->rank() == 0 && transport->size() > 1) {
    short_piece = 1;
    transport->send(1, message);
    short_piece = -1;
    flush(*transport);
  }
  const std::string error = error_of_rank_1(*transport);
  verdict.require("a piece that is too short is refused",
                  transport->rank() != 1 ||
                      error == "rank 0 sent an eager chunk of 61340 bytes, expected 61440");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Letters of which the sender gives some up; parts cross the borders of chunks.
void check_given_up(test::Verdict& verdict) {
  const auto transport = make(16);
  const int P = transport->size(), to = (transport->rank() + 1) % P;
  const std::vector<std::byte> kept = test_message(100, transport->rank(), 1), lost(30), last(3);
  for (int round = 0; round < 3; ++round) {
    transport->open(to, 100);  // before a part of it has gone
    transport->open(to, 50);
    transport->send_chunk(to, lost);
    transport->open(to, kept.size());
    transport->send_chunk(to, ConstBytes(kept).first(47));
    transport->send_chunk(to, ConstBytes(kept).subspan(47));
    transport->open(to, 31);
    transport->send_chunk(to, lost);
    transport->send(to, last);
  }
  std::vector<size_t> sizes;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(30);
  std::string wrong;
  while (sizes.size() < 6 && Clock::now() < limit) {
    if (const auto arrived = transport->poll()) {
      sizes.push_back(arrived->bytes.size());
      if (sizes.back() == 100 && !same(arrived->bytes, test_message(100, arrived->peer, 1)))
        wrong = "another letter";
    }
    transport->idle(Clock::now());
  }
  flush(*transport);
  if (sizes != std::vector<size_t>{100, 3, 100, 3, 100, 3})
    wrong += text(sizes.size(), " letters of other sizes");
  verdict.check("letters that are given up", wrong);
  MPI_Barrier(MPI_COMM_WORLD);
  if (transport->poll()) verdict.check("letters that are given up", "more came");
  transport->close();
}

void check_many(test::Verdict& verdict) {
  const auto transport = make(kMaxMpiMessage);
  verdict.check("many letters at once", all_to_all(*transport, 600, 600, unit::test_message_size));
  verdict.check("nothing but empty letters",
                all_to_all(*transport, 100, 100, [](uint64_t) { return size_t{0}; }));
  verdict.check("large letters",
                all_to_all(*transport, 6, 6, [](uint64_t) { return size_t{3000000}; }));
  const size_t before = transport->memory().allocations();
  verdict.check("large letters again",
                all_to_all(*transport, 6, 1, [](uint64_t) { return size_t{3000000}; }));
  verdict.require("blocks of messages are used again", transport->memory().allocations() == before);
  verdict.require("its end is collective", transport->close_is_collective());
  verdict.require("nobody is known to be gone", !transport->gone(0));
  transport->close();
}

/// Rank 0 gives up while a large message to rank 1 is under way, which then takes it after all.
void check_abandon(test::Verdict& verdict) {
  const auto transport = make(1 << 22);
  static const std::vector<std::byte> large = test_message(30 << 20, 0, 1);
  if (transport->rank() == 0 && transport->size() > 1) {
    transport->send(1, large);
    bool touches_caller = false;
    const size_t unsent = transport->unsent();
    verdict.require("the message is under way", unsent > 0);
    verdict.require("to its peer", transport->unsent_to(1) == unsent);
    verdict.require("and to nobody else", transport->unsent_to(0) == 0);
    const Clock::time_point start = Clock::now();
    transport->abandon(&touches_caller);
    verdict.require("it touches the caller's memory", touches_caller);
    verdict.require("giving up takes no time", Clock::now() - start < std::chrono::seconds(1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (transport->rank() == 1) {
    std::optional<ReceivedMessage> arrived;
    while (!(arrived = transport->poll())) transport->idle(Clock::now());
    verdict.require("the message comes, whole", same(arrived->bytes, large));
  }
  // Others learn that they may go only when rank 1 has what MPI still moves.
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The receiver gives up in the middle of a message. While MPI may still write to its memory
/// (`busy`), that is not given back; when nothing more is under way, it is.
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
      verdict.require("a part of a message is none", !transport->poll());
    const size_t in_use = transport->memory().bytes_in_use();
    bool touches_caller = true;
    const size_t given_up = transport->abandon(&touches_caller);
    nothing_completes = false;
    verdict.require("memory that MPI may touch is given up", given_up == (busy ? in_use : 0));
    verdict.require("and not freed", transport->memory().bytes_in_use() == in_use);
    verdict.require("nothing that was sent is touched", !touches_caller);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The same where the rest of a message in pieces does not come.
void check_abandoned_pieces(test::Verdict& verdict) {
  const auto transport = make(kMaxMpiMessage, true);
  static const std::vector<std::byte> message = test_message(300000, 0, 6);
  if (transport->rank() == 1) {
    const Clock::time_point start = Clock::now();
    while (transport->memory().allocations() == 0 ||
           Clock::now() - start < std::chrono::milliseconds(100))  // in which the first one is done
      verdict.require("a first piece is no message", !transport->poll());
    const size_t in_use = transport->memory().bytes_in_use();
    bool touches_caller = true;
    verdict.require("pieces may still come to its memory",
                    transport->abandon(&touches_caller) == in_use);
    verdict.require("nothing that was sent is touched", !touches_caller);
  } else if (transport->rank() == 0 && transport->size() > 1) {
    pieces_to_send = 1;
    transport->send(1, message);
    pieces_to_send = -1;
    flush(*transport);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// More comes than was announced: an error, and nothing is written beyond the buffer.
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

/// MPI cannot reach a peer: that is an error of the peer, with its rank and MPI's words.
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

/// MPI finds out later that a peer is gone, when the message is under way. (One to the own rank may
/// wait for its receive.)
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
      verdict.require("an error of the peer", caught.code() == sparsecollRemoteError);
    }
    one_fails = false;
  };
  transport->send(peer, message);
  failing([&] { transport->unsent(); });
  verdict.require("a send that fails later names its peer",
                  error.starts_with(text("a send to rank ", peer, " failed: ")));
  verdict.require("it is no longer under way", transport->unsent() == 0);
  failing([&] { transport->poll(); });
  verdict.require("so does a receive",
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

/// Rank 0 decides for all.
bool large_wanted() {
  const char* wish = std::getenv("SPARSECOLL_TEST_LARGE");
  int wanted = wish && std::string(wish) == "1" && free_gigabytes() >= 8;
  MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return wanted != 0;
}

void check_large(test::Verdict& verdict) {
  constexpr size_t kWords = (size_t{1} << 28) + 4321;  // 2^31 bytes and some
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
  test::HangGuard guard(text("mpi_transport, rank ", rank), 1, std::chrono::seconds(100));
  test::Verdict verdict;
  try {
    check_chunks(verdict);
    check_pieces(verdict);
    check_given_up(verdict);
    check_many(verdict);
    check_abandon(verdict);
    for (const bool busy : {false, true}) check_abandoned_receive(verdict, busy);
    check_abandoned_pieces(verdict);
    check_false_announcement(verdict);
    check_short_piece(verdict);
    check_failed_send(verdict);
    check_failed_request(verdict);
    if (large_wanted()) check_large(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_transport, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this rank
  }
  const int code = verdict.report("mpi_transport");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
