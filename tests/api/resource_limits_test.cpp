// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A group whose calls get no stack fails at once, with sparsecollSystemError on that rank and
// sparsecollRemoteError on the others. A queue that gets no thread fails, too.

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "api/communicators.hpp"
#include "api/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"

namespace sparsecoll::unit {
namespace {

/// While it exists, the process gets no more address space. Small allocations still succeed in
/// existing pages.
class NoAddressSpace {
 public:
  NoAddressSpace() {
    getrlimit(RLIMIT_AS, &usual_);
    const rlimit none{1, usual_.rlim_max};
    if (setrlimit(RLIMIT_AS, &none) != 0) throw std::runtime_error("no limit could be set");
  }
  ~NoAddressSpace() { setrlimit(RLIMIT_AS, &usual_); }
  NoAddressSpace(const NoAddressSpace&) = delete;
  NoAddressSpace& operator=(const NoAddressSpace&) = delete;

 private:
  rlimit usual_;
};

/// While it exists, no thread can be started, because the default stack size is larger than any
/// address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() { pthread_setattr_default_np(&usual_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_;
};

/// Makes a group of three calls.
sparsecollResult_t group_of_three(sparsecollComm_t comm) {
  std::vector<float> x(30, 1.0f), y(x), z(x);
  sparsecollGroupStart(comm);
  for (std::vector<float>* each : {&x, &y, &z})
    sparseAllreduce(each->data(), each->data(), each->size(), 4, sparsecollFloat32, sparsecollSum,
                    nullptr, comm, nullptr);
  return sparsecollGroupEnd(comm);
}

/// Makes one call, which allocates workspace that later groups reuse.
sparsecollResult_t one_call(sparsecollComm_t comm) {
  std::vector<float> x(30, 1.0f);
  return sparseAllreduce(x.data(), x.data(), x.size(), 4, sparsecollFloat32, sparsecollSum, nullptr,
                         comm, nullptr);
}

bool reports_no_stack(sparsecollComm_t comm) {
  return std::string(sparsecollGetLastError(comm)).find("no stack") != std::string::npos;
}

/// Rank 1 gets no stacks for its group. `first`: rank 1 fails before rank 0 starts its group;
/// otherwise rank 0 is already in its group.
std::string group_without_stacks(unit::Communicators& ranks, int rank, bool first,
                                 std::atomic<bool>& failed) {
  const sparsecollComm_t comm = ranks.handle(rank);
  const sparsecollResult_t warmup = one_call(comm);
  if (warmup != sparsecollSuccess) return test::explain(warmup, comm);
  const auto start = Clock::now();
  if (rank == 0) {
    while (first && !failed) std::this_thread::yield();
    const sparsecollResult_t result = group_of_three(comm);
    // If rank 0 starts late, it gets no stacks either.
    if (!first && result == sparsecollSystemError && reports_no_stack(comm)) return "";
    if (result != sparsecollRemoteError) return test::explain(result, comm);
  } else {
    if (!first) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::optional<NoAddressSpace> none(std::in_place);
    const sparsecollResult_t result = group_of_three(comm);
    none.reset();
    failed = true;
    if (result != sparsecollSystemError || !reports_no_stack(comm))
      return test::explain(result, comm);
  }
  return Clock::now() - start < std::chrono::seconds(8) ? "" : "late";
}

TEST_CASE("a rank that gets no stack for its group fails the others") {
  if (kSanitized) return;  // sanitizers map address space at any time
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.timeoutMs = 20000;
  for (const bool first : {true, false}) {
    Communicators ranks(2, config);
    std::atomic<bool> failed{false};
    CHECK(ranks.run("groups", [&](int rank) {
      return group_without_stacks(ranks, rank, first, failed);
    }) == "");
  }
}

TEST_CASE("a communicator whose calls are queued needs a thread") {
  if (kSanitized) return;  // sanitizers choose the stack size of threads
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.blocking = 0;
  sparsecollComm_t comms[2] = {nullptr, nullptr};
  {
    const NoThreads none;
    CHECK(sparsecollCommInitAll(comms, 2, nullptr, &config) == sparsecollSystemError);
  }
  CHECK(std::string(sparsecollGetLastError(nullptr)).find("no thread") != std::string::npos);
  CHECK(comms[0] == nullptr);
}

TEST_CASE("a group reuses the stacks of the previous one") {
  if (kSanitized) return;
  Communicators ranks(2, SPARSECOLL_CONFIG_INITIALIZER);
  std::atomic<int> ready{0}, done{0};
  CHECK(ranks.run("groups", [&](int rank) {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollResult_t result = group_of_three(comm);
    if (result != sparsecollSuccess) return test::explain(result, comm);
    ++ready;
    while (ready < 2) std::this_thread::yield();
    std::optional<NoAddressSpace> none;  // limits all ranks of the process
    if (rank == 0) none.emplace();
    for (int round = 0; round < 3 && result == sparsecollSuccess; ++round)
      result = group_of_three(comm);
    ++done;
    while (done < 2) std::this_thread::yield();
    return result == sparsecollSuccess ? "" : test::explain(result, comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::unit
