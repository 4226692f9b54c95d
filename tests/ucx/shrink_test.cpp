// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A process that found the others by an id is killed or stopped in a call with a residual. The
// others shrink, move their residuals and go on.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/processes.hpp"
#include "support/ranks.hpp"
#include "support/survivor.hpp"

namespace sparsecoll::test {
namespace {

constexpr int kDeadlineMs = 2000;  ///< at first, where the others wait for it
constexpr int kPatientMs =
    20000;  ///< where no rank waits until the deadline, even if it gets no CPU
constexpr int kCallsBefore = 4;

struct Hit {
  Mode mode;
  int P;
  int victim;
  int signal;
  int after_us;  ///< in the calls that follow the first ones
  bool listed;   ///< the others exclude the victim by its number
  int deadline_ms = kPatientMs;
};

void hit_later(const Hit& hit) {
  std::thread([signal = hit.signal, wait = std::chrono::microseconds(hit.after_us)] {
    std::this_thread::sleep_for(wait);
    kill(getpid(), signal);
  }).detach();
}

std::string run_rank(const Hit& hit, int rank, const sparsecollUniqueId& id) {
  const Survivor survivor{hit.mode, hit.P, rank, hit.victim};
  sparsecollComm_t comm = nullptr, shrunk = nullptr;
  sparsecollConfig_t config = config_of(hit.mode);
  config.timeoutMs = hit.deadline_ms;
  if (sparsecollCommInitRank(&comm, hit.P, id, rank, &config) != sparsecollSuccess)
    return sparsecollGetLastError(nullptr);
  const Residual<float> residual(comm, Survivor::kLength);
  sparsecollResult_t result = sparsecollSuccess;
  for (int call = 0; result == sparsecollSuccess; ++call) {
    if (rank == hit.victim && call == kCallsBefore) hit_later(hit);
    result = survivor.call(comm, residual);
  }
  result = sparsecollCommShrink(comm, hit.listed ? &hit.victim : nullptr, hit.listed ? 1 : 0,
                                &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + explain(result, comm);
  int failed = -1, count = 1;
  sparsecollCommGetFailed(comm, &failed, &count);
  if (!hit.listed && (count != 1 || failed != hit.victim)) return "who is gone is not known";
  result = sparsecollResidualMove(residual.handle(), shrunk);
  if (result != sparsecollSuccess) return "move: " + explain(result, shrunk);
  result = sparsecollCommDestroy(comm);
  if (result != sparsecollSuccess) return "destroy: " + explain(result, nullptr);
  return survivor.go_on(shrunk, residual);
}

std::string hit_a_rank(const Hit& hit) {
  const auto verdicts = run_processes(
      hit.P, 60 + hit.deadline_ms / 250,
      [&](int rank, const sparsecollUniqueId& id) { return run_rank(hit, rank, id); },
      hit.signal == SIGSTOP ? hit.victim : -1);
  return joined(verdicts, hit.victim);
}

TEST_CASE("processes go on when one of them is killed") {
  for (const int victim : {0, 1, 3})
    for (const int after_us : {0, 300, 1000, 3000})
      for (const bool listed : {true, false})
        CHECK(hit_a_rank({victim == 1 ? kAllgather : kOktopk, 4, victim, SIGKILL, after_us,
                          listed}) == "");
}

TEST_CASE("two processes become one when the other is killed") {
  for (const bool listed : {true, false})
    CHECK(hit_a_rank({kOktopk, 2, 0, SIGKILL, 500, listed}) == "");
}

TEST_CASE("processes go on when one of them is stopped") {
  for (const int victim : {0, 2})
    for (const int after_us : {0, 1000})
      CHECK(with_longer_deadlines(kDeadlineMs, [&](int ms) {
              return hit_a_rank({kOktopk, 3, victim, SIGSTOP, after_us, true, ms});
            }) == "");
}

/// Makes calls, between which rank 1 is aborted, and shrinks. Returns "" or what is wrong.
std::string abort_between_calls(int rank, const sparsecollUniqueId& id) {
  constexpr int kAborted = 1;
  const Survivor survivor{kOktopk, 3, rank, kAborted};
  sparsecollComm_t comm = nullptr, shrunk = nullptr;
  sparsecollConfig_t config = config_of(kOktopk);
  config.timeoutMs = kPatientMs;
  if (sparsecollCommInitRank(&comm, 3, id, rank, &config) != sparsecollSuccess)
    return sparsecollGetLastError(nullptr);
  const Residual<float> residual(comm, Survivor::kLength);
  sparsecollResult_t result = sparsecollSuccess;
  for (int call = 0; result == sparsecollSuccess && call < kCallsBefore; ++call)
    result = survivor.call(comm, residual);
  if (result != sparsecollSuccess) return explain(result, comm);
  const auto start = std::chrono::steady_clock::now();
  if (rank == kAborted)
    sparsecollCommAbort(comm);
  else
    result = survivor.call(comm, residual);
  if (rank != kAborted && result != sparsecollRemoteError) return explain(result, comm);
  const int none = 0;
  result = sparsecollCommShrink(comm, &none, 0, &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + explain(result, comm);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took.count() > kPatientMs / 2000.0) return "it took " + std::to_string(took.count()) + " s";
  result = sparsecollCommDestroy(comm);
  if (result == sparsecollSuccess) result = sparsecollCommDestroy(shrunk);
  return result == sparsecollSuccess ? "" : explain(result, nullptr);
}

TEST_CASE("a rank that was aborted between its calls and shrinks tells the others at once") {
  CHECK(joined(run_processes(3, 60, abort_between_calls), -1) == "");
}

/// Rank 2 ends while rank 0, whose list is another one than that of rank 1, connects to it for a
/// shrink. Ranks are threads. The others stay until it has ended: if rank 0 left before it has
/// taken the answer of UCX before 1.14, UCX would end the process.
std::string end_while_connected() {
  sparsecollUniqueId id{};
  if (sparsecollGetUniqueId(&id) != sparsecollSuccess) return sparsecollGetLastError(nullptr);
  std::atomic<bool> ended{false};
  return run_threads("an end during a shrink", 3, [&](int rank) -> std::string {
    sparsecollComm_t comm = nullptr, shrunk = nullptr;
    sparsecollConfig_t config = config_of(kOktopk);
    config.timeoutMs = kPatientMs;
    const int leaver = 2;
    if (sparsecollCommInitRank(&comm, 3, id, rank, &config) != sparsecollSuccess) {
      if (rank == leaver) ended = true;
      return sparsecollGetLastError(nullptr);
    }
    std::string wrong;
    if (rank != leaver) {
      if (sparsecollCommShrink(comm, &leaver, rank, &shrunk, nullptr) == sparsecollSuccess)
        wrong = "ranks with different lists shrank; ";
      if (rank == 0) sparsecollCommAbort(comm);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const sparsecollResult_t result = sparsecollCommShrink(comm, &leaver, 1, &shrunk, nullptr);
      if (result != sparsecollSuccess) return wrong + explain(result, comm);
      while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sparsecollCommAbort(shrunk);
      sparsecollCommDestroy(shrunk);
    }
    sparsecollCommDestroy(comm);
    if (rank == leaver) ended = true;
    return wrong;
  });
}

TEST_CASE("a rank may end while UCX connects another one to it") {
  const auto body = [](int, const sparsecollUniqueId&) {
    std::string wrong;
    for (int round = 0; round < 8; ++round) wrong += end_while_connected();
    return wrong;
  };
  CHECK(joined(run_processes(1, 120, body)) == "");
}

}  // namespace
}  // namespace sparsecoll::test
