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
#include "support/longer_deadlines.hpp"

namespace sparsecoll::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDeadlineMs = 20000;
constexpr int kStoppedDeadlineMs = 2000;  ///< at first
constexpr double kNoticed = 2;  ///< seconds in which ranks notice a dead one, and a destroy ends

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
  std::atomic<int> failed{0};    ///< ranks whose call has failed
  std::atomic<int> arrived{0};   ///< ranks that come to the init next
  std::atomic<int> answered{0};  ///< ranks whose init has returned
};

/// Makes a Shared in memory that processes forked later share.
class SharedMemory {
 public:
  SharedMemory() {
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    shared_ = new (memory) Shared;
  }
  ~SharedMemory() { munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& operator*() const { return *shared_; }

 private:
  Shared* shared_;
};

void wait_until(const std::atomic<int>& count, int wanted) {
  while (count < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Hits this process with the signal in a while.
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
  int deadline_ms = kDeadlineMs;
};

/// Makes calls until one fails. Returns "" if it failed as it should.
std::string call_until_failure(sparsecollComm_t comm, int rank, const Hit& hit, Shared& shared) {
  const bool stopped = hit.signal == SIGSTOP;
  sparsecollResult_t result = sparsecollSuccess;
  float value = 0;
  for (int call = 0; result == sparsecollSuccess; ++call) {
    // After the first call, because then all ranks have left the init.
    if (rank == hit.victim && call == 1) hit_later(shared, hit.signal);
    result = sum(comm, hit.count, rank, &value);
  }
  const auto now = Clock::now().time_since_epoch().count();
  ++shared.failed;
  const double seconds = static_cast<double>(now - shared.died) / 1e9;
  const std::string message = error_of(comm, result);
  if (shared.died == 0) return "too early: " + message;
  if (seconds > (stopped ? hit.deadline_ms / 1000.0 : 0) + kNoticed)
    return "late, after " + std::to_string(seconds) + " s: " + message;
  if (!has_word(message, "rank " + std::to_string(hit.victim))) return "not named: " + message;
  if (result != (stopped ? sparsecollTimeout : sparsecollRemoteError) &&
      result != sparsecollRemoteError)
    return "another error: " + message;
  const auto before = Clock::now();
  sparsecollCommDestroy(comm);
  if (Clock::now() - before > std::chrono::duration<double>(kNoticed))
    return "late: the destroy waits";
  return "";
}

std::string hit_a_rank(const Hit& hit) {
  const SharedMemory memory;
  Shared& shared = *memory;
  const bool stopped = hit.signal == SIGSTOP;
  const auto body = [&](int rank, const sparsecollUniqueId& id) {
    sparsecollComm_t comm = nullptr;
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = hit.deadline_ms;
    if (sparsecollCommInitRank(&comm, hit.P, id, rank, &config) != sparsecollSuccess)
      return std::string(sparsecollGetLastError(nullptr));
    if (rank == hit.victim && hit.has_child && fork() == 0) {
      alarm(60);
      wait_until(shared.failed, hit.P - 1);
      _exit(0);
    }
    return call_until_failure(comm, rank, hit, shared);
  };
  return joined(run_processes(hit.P, 60 + hit.deadline_ms / 250, body, stopped ? hit.victim : -1),
                hit.victim);
}

/// Does it again, with a longer deadline, if a rank was late.
std::string hit_until_in_time(Hit hit) {
  return with_longer_deadlines(hit.deadline_ms, [&](int ms) {
    hit.deadline_ms = ms;
    return hit_a_rank(hit);
  });
}

TEST_CASE("a killed process is noticed long before the deadline, and named") {
  for (const std::size_t count : {std::size_t{10}, std::size_t{3000}, std::size_t{1} << 20})
    for (const int victim : {2, 0}) CHECK(hit_until_in_time({4, victim, count}) == "");
  CHECK(hit_until_in_time({2, 1, 100000}) == "");
}

TEST_CASE("a killed process is noticed although its child lives on") {
  CHECK(hit_until_in_time({3, 1, 1000, SIGKILL, true}) == "");
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
    CHECK(hit_until_in_time({2, 1, count, SIGSTOP, false, kStoppedDeadlineMs}) == "");
}

/// Rank 2 is killed. The others come to the init together.
std::string come_without_rank_2(int deadline_ms) {
  const SharedMemory memory;
  Shared& shared = *memory;
  const auto body = [&](int rank, const sparsecollUniqueId& id) {
    if (rank == 2) kill(getpid(), SIGKILL);
    ++shared.arrived;
    wait_until(shared.arrived, 2);
    sparsecollComm_t comm = nullptr;
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = deadline_ms;
    const sparsecollResult_t result = sparsecollCommInitRank(&comm, 3, id, rank, &config);
    const std::string message = sparsecollGetLastError(nullptr);
    ++shared.answered;
    if (rank == 0) wait_until(shared.answered, 2);  // the rendezvous lives in this process
    return result == sparsecollTimeout && has_word(message, "rank 2")
               ? ""
               : "at the deadline: " + message;
  };
  return joined(run_processes(3, 30 + deadline_ms / 250, body), 2);
}

TEST_CASE("a process that is killed before the others have come is named at the deadline") {
  CHECK(with_longer_deadlines(3000, come_without_rank_2) == "");
}

}  // namespace
}  // namespace sparsecoll::test
