// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A process dies while it writes to the queue of another one in shared memory. So the queue is
// blocked: what the others write to it does not arrive any more.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/deviations.hpp"
#include "support/processes.hpp"
#include "transport/ucx/transport.hpp"

namespace sparsecoll::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4;
constexpr int kBlocked = 0;
constexpr int kSender = 1;
constexpr int kVictim = 2;
constexpr auto kPatient = std::chrono::seconds(20);
constexpr auto kSoon = std::chrono::seconds(10);  // even if the rank gets no CPU for a while

/// Memory that the processes share.
struct Shared {
  static constexpr std::size_t kMostBytes = 4096;
  std::atomic<int> arrived{0};  ///< ranks that have come to a step, in all steps
  std::array<std::array<std::byte, kMostBytes>, kRanks> bytes;
};

class SharedBootstrap final : public Bootstrap {
 public:
  SharedBootstrap(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  std::vector<std::byte> allgather(ConstBytes own) override {
    if (own.size() > Shared::kMostBytes) fail(sparsecollInternalError, "too many bytes");
    std::ranges::copy(own, shared_.bytes[static_cast<std::size_t>(rank_)].begin());
    wait_for_all();
    std::vector<std::byte> all;
    for (const auto& each : shared_.bytes)
      all.insert(all.end(), each.begin(), each.begin() + static_cast<std::ptrdiff_t>(own.size()));
    wait_for_all();
    return all;
  }

 private:
  void wait_for_all() {
    ++shared_.arrived;
    steps_ += kRanks;
    while (shared_.arrived < steps_) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  Shared& shared_;
  const int rank_;
  int steps_ = 0;
};

/// Sends a message whose second half cannot be read, so that the process dies while UCX copies it
/// into the queue.
[[noreturn]] void die_while_writing(Transport& transport) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + page, page, PROT_NONE);
  std::signal(SIGSEGV, [](int) { kill(getpid(), SIGKILL); });
  transport.send(kBlocked, {memory, 2 * page});
  for (;;) transport.poll();
}

/// Receives a message of one byte of this rank. Returns "" or what is wrong.
std::string receive(Transport& transport, int from) {
  const Clock::time_point limit = Clock::now() + kPatient;
  while (Clock::now() < limit) {
    if (const auto message = transport.poll())
      return message->peer == from && message->bytes.size() == 1 ? "" : "another message";
    transport.idle(limit);
  }
  return "nothing has arrived";
}

std::string run_rank(Shared& shared, int rank) {
  SharedBootstrap bootstrap(shared, rank);
  const auto transport = make_ucx_transport({rank, kRanks}, bootstrap, Deadline::after(20000));
  const std::byte byte{7};
  if (rank == kVictim) die_while_writing(*transport);
  while (rank == kSender && !transport->gone(kVictim))
    transport->idle(Clock::now() + std::chrono::milliseconds(1));
  if (rank == kSender) transport->send(kBlocked, {&byte, 1});
  if (rank == kSender) transport->send(3, {&byte, 1});
  std::string wrong;
  const Clock::time_point start = Clock::now();
  try {
    if (rank != kSender) wrong = receive(*transport, kSender);
    if (rank == kBlocked) return "the message has arrived: " + wrong;
  } catch (const Error& error) {
    if (rank != kBlocked || error.code() != sparsecollRemoteError ||
        !has_word(error.what(), "rank 2") || Clock::now() - start > kSoon)
      wrong = error.what();
  }
  const auto recovery = transport->recovery();
  if (rank == kSender) recovery->send(kBlocked, {&byte, 1});
  if (rank == kBlocked && wrong.empty()) wrong = receive(*recovery, kSender);
  while (recovery->unsent() > 0) recovery->idle(Clock::now() + std::chrono::milliseconds(1));
  bool touched = false;
  transport->abandon(&touched);
  return wrong;
}

TEST_CASE("a process dies while it writes to the queue of another one") {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  const auto body = [&](int rank, const sparsecollUniqueId&) { return run_rank(shared, rank); };
  CHECK(joined(run_processes(kRanks, 60, body), kVictim) == "");
  munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace sparsecoll::test
