// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Signals interrupt processes a thousand times a second while they meet, make calls of every kind
// over UCX, and end: nothing fails, and no deadline comes earlier or later.

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/all_calls.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/longer_deadlines.hpp"
#include "support/processes.hpp"
#include "support/signal_storm.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Ids that rank 0 gives to the other processes, in memory that they share.
class SharedIds {
 public:
  SharedIds()
      : ids_(static_cast<Ids*>(mmap(nullptr, sizeof(Ids), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (ids_ == MAP_FAILED) throw std::runtime_error("mmap");
    new (ids_) Ids;
  }
  ~SharedIds() { munmap(ids_, sizeof(Ids)); }
  SharedIds(const SharedIds&) = delete;
  SharedIds& operator=(const SharedIds&) = delete;

  /// Returns the id with this number, which rank 0 makes.
  sparsecollUniqueId get(int number, int rank) const {
    if (rank == 0) {
      if (sparsecollGetUniqueId(&ids_->id[number]) != sparsecollSuccess)
        throw std::runtime_error(sparsecollGetLastError(nullptr));
      ids_->made = number + 1;
    }
    while (ids_->made <= number) std::this_thread::yield();
    return ids_->id[number];
  }

  static constexpr int kMost = 64;

 private:
  struct Ids {
    std::atomic<int> made{0};
    sparsecollUniqueId id[kMost];
  };
  Ids* ids_;
};

/// Makes communicators and calls on them.
std::string live(int P, int rank, const SharedIds& ids, const std::string& file) {
  const SignalStorm storm, everywhere(SignalStorm::To::process);
  for (int round = 0; round < 6; ++round) {
    const Variable blocking("SPARSECOLL_TEST_BLOCKING", round % 2 == 0 ? "1" : "0");
    const sparsecollConfig_t config = default_config();
    sparsecollComm_t comm = nullptr;
    if (sparsecollCommInitRank(&comm, P, ids.get(round, rank), rank, &config) != sparsecollSuccess)
      return sparsecollGetLastError(nullptr);
    std::string wrong = make_all_calls(comm, file, base_seed() + static_cast<std::uint64_t>(round));
    const sparsecollResult_t end = sparsecollCommDestroy(comm);
    if (end != sparsecollSuccess) wrong += "destroy: " + explain(end, comm);
    if (!wrong.empty()) return "round " + std::to_string(round) + ": " + wrong;
  }
  return SignalStorm::handled() > 100 ? "" : "there were no signals";
}

TEST_CASE("inits, calls and ends over UCX take no notice of signals") {
  for (const int P : {1, 2, 4}) {
    const Folder folder;
    const SharedIds ids;
    const auto body = [&](int rank, const sparsecollUniqueId&) {
      return live(P, rank, ids, folder.file(rank));
    };
    CHECK(joined(run_processes(P, 120, body)) == "");
  }
}

/// Rank 1 does not call. The deadline is that of the init, or of a call. `over` is in memory that
/// the ranks share.
std::string wait_in_vain(int rank, const sparsecollUniqueId& id, bool in_init, int deadline_ms,
                         std::atomic<bool>& over) {
  const double deadline = deadline_ms / 1000.0;
  sparsecollConfig_t config = default_config();
  config.timeoutMs = deadline_ms;
  sparsecollComm_t comm = nullptr;
  const SignalStorm storm, everywhere(SignalStorm::To::process);
  if (rank == 1 && in_init) return "";
  auto start = Clock::now();
  sparsecollResult_t result = sparsecollCommInitRank(&comm, 2, id, rank, &config);
  std::string message = sparsecollGetLastError(nullptr);
  if (!in_init) {
    if (result != sparsecollSuccess) {
      over = true;
      return "late in the init: " + message;
    }
    if (rank == 1) {
      while (!over) std::this_thread::yield();
      return "";
    }
    std::vector<float> x(10, 1);
    start = Clock::now();
    result = call_dense_verb<float>(Verb::kSparse, {x.data(), x.data(), x.size(), 5}, comm);
    message = sparsecollGetLastError(comm);
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  over = true;
  if (result != sparsecollTimeout) return message;
  // The rendezvous reports the missing ranks a quarter of a short deadline earlier.
  if (took.count() < (in_init ? 0.7 : 1) * deadline) return "early: " + message;
  return took.count() > deadline + patience() ? "late: " + message : "";
}

TEST_CASE("signals neither shorten nor lengthen a deadline over UCX") {
  void* const shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  for (const bool in_init : {true, false})
    CHECK(with_longer_deadlines(500, [&](int ms) {
            auto& over = *new (shared) std::atomic<bool>(false);
            const auto body = [&](int rank, const sparsecollUniqueId& id) {
              return wait_in_vain(rank, id, in_init, ms, over);
            };
            return joined(run_processes(2, 120, body));
          }) == "");
  munmap(shared, sizeof(std::atomic<bool>));
}

}  // namespace
}  // namespace sparsecoll::test
