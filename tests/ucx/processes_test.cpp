// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes and find each other by an id: verbs, and peers that die or stop.

#include "support/processes.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "support/catch.hpp"
#include "support/deviations.hpp"

namespace sparsecoll::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDeadlineMs = 20000;
constexpr int kStoppedDeadlineMs = 2000;

std::string error_of(sparsecollComm_t comm, sparsecollResult_t result) {
  return std::string(sparsecollGetErrorString(result)) + ": " + sparsecollGetLastError(comm);
}

/// Sums `count` values of which rank r passes r + 1 everywhere. Returns "" or what is wrong.
sparsecollResult_t sum(sparsecollComm_t comm, std::size_t count, int rank, float* first) {
  std::vector<float> send(count, static_cast<float>(rank + 1)), recv(count);
  const sparsecollResult_t result =
      sparseAllreduce(send.data(), recv.data(), count, count, sparsecollFloat32, sparsecollSum,
                      nullptr, comm, nullptr);
  *first = recv.front();
  return result;
}

TEST_CASE("processes find each other by an id, compute, split and end") {
  for (const int P : {1, 2, 4}) {
    const auto verdicts = run_processes(P, 60, [P](int rank, const sparsecollUniqueId& id) {
      sparsecollComm_t comm = nullptr, half = nullptr;
      if (sparsecollCommInitRank(&comm, P, id, rank, nullptr) != sparsecollSuccess)
        return std::string(sparsecollGetLastError(nullptr));
      float value = 0;
      if (const auto result = sum(comm, 100000, rank, &value)) return error_of(comm, result);
      if (value != static_cast<float>(P * (P + 1) / 2)) return "sum " + std::to_string(value);
      if (const auto result = sparsecollCommSplit(comm, rank % 2, 0, &half, nullptr))
        return error_of(comm, result);
      if (const auto result = sparsecollCommDestroy(comm)) return error_of(comm, result);
      int members = 0;
      sparsecollCommCount(half, &members);
      if (const auto result = sum(half, 1000, 0, &value)) return error_of(half, result);
      if (value != static_cast<float>(members)) return "sum of half " + std::to_string(value);
      if (const auto result = sparsecollCommDestroy(half)) return error_of(half, result);
      return std::string();
    });
    CHECK(joined(verdicts) == "");
  }
}

/// Memory that the processes share.
struct Shared {
  std::atomic<int64_t> died{0};  ///< when the victim was hit, in ns of the steady clock
};

/// Hits this process with the signal a while after the first calls.
void hit_later(Shared& shared, int signal) {
  std::thread([&shared, signal] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    shared.died = Clock::now().time_since_epoch().count();
    kill(getpid(), signal);
  }).detach();
}

/// How a rank is hit.
struct Hit {
  int P;
  int victim;
  std::size_t count;  ///< values of each call
  int signal = SIGKILL;
  bool has_child = false;  ///< the victim has a forked child, which lives on
};

/// Makes calls until one fails. Returns "" if it failed as it should.
std::string call_until_failure(sparsecollComm_t comm, int rank, const Hit& hit, Shared& shared) {
  const bool stopped = hit.signal == SIGSTOP;
  sparsecollResult_t result = sparsecollSuccess;
  float value = 0;
  while (result == sparsecollSuccess) result = sum(comm, hit.count, rank, &value);
  const auto now = Clock::now().time_since_epoch().count();
  const double seconds = static_cast<double>(now - shared.died) / 1e9;
  const std::string message = error_of(comm, result);
  if (shared.died == 0) return "too early: " + message;
  if (seconds > (stopped ? kStoppedDeadlineMs / 1000.0 + 2 : 2))
    return "after " + std::to_string(seconds) + " s: " + message;
  if (!has_word(message, "rank " + std::to_string(hit.victim))) return "not named: " + message;
  if (result != (stopped ? sparsecollTimeout : sparsecollRemoteError) &&
      result != sparsecollRemoteError)
    return "another error: " + message;
  const auto before = Clock::now();
  sparsecollCommDestroy(comm);
  if (Clock::now() - before > std::chrono::seconds(2)) return "the destroy waits";
  return "";
}

void hit_a_rank(const Hit& hit) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  const bool stopped = hit.signal == SIGSTOP;
  const auto body = [&](int rank, const sparsecollUniqueId& id) {
    sparsecollComm_t comm = nullptr;
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = stopped ? kStoppedDeadlineMs : kDeadlineMs;
    if (sparsecollCommInitRank(&comm, hit.P, id, rank, &config) != sparsecollSuccess)
      return std::string(sparsecollGetLastError(nullptr));
    if (rank == hit.victim) {
      if (hit.has_child && fork() == 0) {
        sleep(5);
        _exit(0);
      }
      hit_later(shared, hit.signal);
    }
    return call_until_failure(comm, rank, hit, shared);
  };
  CHECK(joined(run_processes(hit.P, 60, body, stopped ? hit.victim : -1), hit.victim) == "");
  munmap(memory, sizeof(Shared));
}

TEST_CASE("a killed process is noticed long before the deadline, and named") {
  for (const std::size_t count : {std::size_t{10}, std::size_t{3000}, std::size_t{1} << 20})
    for (const int victim : {2, 0}) hit_a_rank({4, victim, count});
  hit_a_rank({2, 1, 100000});
}

TEST_CASE("a killed process is noticed although its child lives on") {
  hit_a_rank({3, 1, 1000, SIGKILL, true});
}

TEST_CASE("a forked child is refused over UCX, and its parent goes on") {
  const auto verdicts = run_processes(2, 60, [](int rank, const sparsecollUniqueId& id) {
    sparsecollComm_t comm = nullptr;
    if (sparsecollCommInitRank(&comm, 2, id, rank, nullptr) != sparsecollSuccess)
      return std::string(sparsecollGetLastError(nullptr));
    float value = 0;
    for (int round = 0; round < 20; ++round) {
      if (const auto result = sum(comm, 1000, rank, &value)) return error_of(comm, result);
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        const bool refused = sum(comm, 1000, rank, &value) == sparsecollInvalidUsage &&
                             sparsecollCommSynchronize(comm) == sparsecollInvalidUsage &&
                             sparsecollCommAbort(comm) == sparsecollInvalidUsage &&
                             sparsecollCommDestroy(comm) == sparsecollInvalidUsage;
        _exit(refused ? 0 : 1);
      }
      int status = 1;
      if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return "the child's status is " + std::to_string(status);
    }
    if (const auto result = sum(comm, 100000, rank, &value)) return error_of(comm, result);
    if (value != 3) return "sum " + std::to_string(value);
    if (const auto result = sparsecollCommDestroy(comm)) return error_of(comm, result);
    return std::string();
  });
  CHECK(joined(verdicts) == "");
}

// With more ranks one may name another that waits for the stopped one itself.
TEST_CASE("a process that is stopped is named at the deadline") {
  for (const std::size_t count : {std::size_t{10}, std::size_t{100000}})
    hit_a_rank({2, 1, count, SIGSTOP});
}

TEST_CASE("a process that is killed before the others have come is named at the deadline") {
  const auto verdicts = run_processes(3, 30, [](int rank, const sparsecollUniqueId& id) {
    if (rank == 2) kill(getpid(), SIGKILL);
    sparsecollComm_t comm = nullptr;
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = 3000;
    const sparsecollResult_t result = sparsecollCommInitRank(&comm, 3, id, rank, &config);
    const std::string message = sparsecollGetLastError(nullptr);
    if (rank == 0) sleep(2);  // the rendezvous lives until the other has its answer
    return result == sparsecollTimeout && has_word(message, "rank 2") ? "" : message;
  });
  CHECK(joined(verdicts, 2) == "");
}

}  // namespace
}  // namespace sparsecoll::test
