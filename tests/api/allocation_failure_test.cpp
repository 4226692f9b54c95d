// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The n-th `new` of one rank fails, for each n, or all from the n-th on: before the call is
// counted, while it is queued, during the call, or after the commit. That rank returns
// sparsecollSystemError or succeeds. The others succeed or fail at once, and no rank waits for its
// deadline.

#include "api/allocation_failure.hpp"

#include <chrono>

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"
#include "support/push_sum.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::unit {
namespace {

enum class Operation {
  kDense,
  kCoordinates,
  kAlltoall,
  kReduceScatter,
  kGroup,
  kSplit,
  kQueuedSplit,  ///< the new communicator queues its calls
  kCreate,
  kStep,
  kDrain,
  kResidualLoad,
  kResidualCreate,
  kStateLoad
};
constexpr Operation kCollective[] = {
    Operation::kDense, Operation::kCoordinates, Operation::kAlltoall,    Operation::kReduceScatter,
    Operation::kGroup, Operation::kSplit,       Operation::kQueuedSplit, Operation::kCreate,
    Operation::kStep,  Operation::kDrain};
constexpr Operation kLocal[] = {Operation::kResidualLoad, Operation::kResidualCreate,
                                Operation::kStateLoad};

constexpr size_t kLength = 300;
constexpr size_t kKept = 20;
constexpr int kTimeoutMs = 20000;
constexpr double kAtOnce = 8;  // seconds, on a busy machine

/// All buffers and handles of one rank, allocated before allocations fail.
struct RankData {
  explicit RankData(int rank)
      : send(test::make_data<float>(test::Kind::kHeavyTail, kLength, rank, 2, 1)),
        sparse(kLength, sparsecollIndex32, entries(rank)) {}

  static oracle::Sparse<float> entries(int rank) {
    return test::make_sparse_of_all<float>(test::SparseKind::kRandom, kLength, 2, 1)[size_t(rank)];
  }

  std::vector<float> send;
  std::vector<float> recv = std::vector<float>(kLength);
  std::vector<float> other = std::vector<float>(kLength);
  std::vector<double> x = std::vector<double>(kLength, 1.0);
  test::SparseBuffer<float> sparse;
  test::SparseBuffer<float> out{kLength, sparsecollIndex32, 2 * kLength};
  sparsecollResidual_t residual = nullptr;
  sparsecollPushSum_t state = nullptr;
  sparsecollComm_t child = nullptr;
  std::string residual_path, state_path;
};

/// Two ranks that made some calls already, so that shapes are cached, gossip messages are in
/// flight, and saved files exist.
class TwoRanks {
 public:
  explicit TwoRanks(bool blocking) : communicators_(2, config(blocking)) {
    for (int rank = 0; rank < 2; ++rank) {
      if (!blocking) communicators_[rank].start();
      data_.push_back(std::make_unique<RankData>(rank));
      data_of(rank).residual_path = folder_.file("residual" + std::to_string(rank));
      data_of(rank).state_path = folder_.file("state" + std::to_string(rank));
    }
    REQUIRE(communicators_.run("before", [&](int rank) { return prepare(rank); }) == "");
  }

  Communicators& communicators() { return communicators_; }
  sparsecollComm_t comm(int rank) const { return communicators_.handle(rank); }

  /// Performs the operation on one rank. Only the library allocates memory here.
  sparsecollResult_t perform(Operation operation, int rank) {
    RankData& data = data_of(rank);
    switch (operation) {
      case Operation::kDense:
        return dense(data, rank);
      case Operation::kCoordinates:
        return sparseAllreducev(data.sparse.get(), data.out.get(), kKept, sparsecollSum,
                                data.residual, comm(rank), nullptr);
      case Operation::kAlltoall:
        return sparseAlltoall(data.sparse.get(), data.out.get(), nullptr, kBounds, comm(rank),
                              nullptr);
      case Operation::kReduceScatter:
        return sparseReduceScatter(data.send.data(), data.out.get(), kLength, kKept,
                                   sparsecollFloat32, sparsecollSum, kBounds, data.residual,
                                   comm(rank), nullptr);
      case Operation::kGroup:
        return group(data, rank);
      case Operation::kSplit:
        return sparsecollCommSplit(comm(rank), 0, 0, &data.child, nullptr);
      case Operation::kQueuedSplit: {
        const sparsecollConfig_t queued = config(false);
        return sparsecollCommSplit(comm(rank), 0, 0, &data.child, &queued);
      }
      case Operation::kCreate:
        return sparsecollPushSumCreate(&data.state, kLength, sparsecollFloat64, nullptr,
                                       comm(rank));
      case Operation::kStep:
        return pushSumStep(data.x.data(), nullptr, kLength, sparsecollFloat64, data.state,
                           comm(rank), nullptr);
      case Operation::kDrain:
        return sparsecollPushSumDrain(data.state, data.x.data(), nullptr, nullptr);
      case Operation::kResidualLoad:
        return sparsecollResidualLoad(data.residual, data.residual_path.c_str());
      case Operation::kResidualCreate:
        return sparsecollResidualCreate(&data.residual, kLength, sparsecollFloat32, comm(rank));
      case Operation::kStateLoad:
        return sparsecollPushSumLoad(data.state, data.state_path.c_str());
    }
    return sparsecollInternalError;
  }

  /// Waits for queued calls. Returns `queued` if it is an error, otherwise the result of the wait.
  sparsecollResult_t synchronize(sparsecollResult_t queued, int rank) const {
    const sparsecollResult_t end = sparsecollCommSynchronize(comm(rank));
    return queued == sparsecollSuccess ? end : queued;
  }

  /// Makes another call. It returns the first error on a poisoned communicator, and succeeds
  /// otherwise.
  sparsecollResult_t call_again(int rank) { return synchronize(dense(data_of(rank), rank), rank); }

  /// Makes a call on the new communicator of a split, if this rank has one. The call succeeds, or
  /// fails with sparsecollRemoteError because the other rank did not join.
  std::string use_child(int rank) {
    RankData& data = data_of(rank);
    if (data.child == nullptr) return "";
    sparsecollResult_t result =
        sparseAllreduce(data.send.data(), data.recv.data(), kLength, kKept, sparsecollFloat32,
                        sparsecollSum, nullptr, data.child, nullptr);
    if (result == sparsecollSuccess) result = sparsecollCommSynchronize(data.child);
    const bool sound = result == sparsecollSuccess || result == sparsecollRemoteError;
    const std::string verdict =
        sound ? "" : "in the new communicator: " + test::explain(result, data.child);
    sparsecollCommDestroy(data.child);
    return verdict;
  }

 private:
  static constexpr size_t kBounds[] = {0, 100, kLength};

  static sparsecollConfig_t config(bool blocking) {
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.algorithm = sparsecollAlgoOktopk;
    config.blocking = blocking;
    config.timeoutMs = kTimeoutMs;
    return config;
  }

  RankData& data_of(int rank) { return *data_[static_cast<size_t>(rank)]; }

  sparsecollResult_t dense(RankData& data, int rank) const {
    return sparseAllreduce(data.send.data(), data.recv.data(), kLength, kKept, sparsecollFloat32,
                           sparsecollSum, data.residual, comm(rank), nullptr);
  }

  sparsecollResult_t group(RankData& data, int rank) const {
    sparsecollResult_t result = sparsecollGroupStart(comm(rank));
    if (result == sparsecollSuccess) result = dense(data, rank);
    if (result == sparsecollSuccess)
      result = gtopkAllreduce(data.send.data(), data.other.data(), kLength, kKept,
                              sparsecollFloat32, sparsecollSum, nullptr, comm(rank), nullptr);
    const sparsecollResult_t end = sparsecollGroupEnd(comm(rank));
    return result == sparsecollSuccess ? end : result;
  }

  std::string prepare(int rank) {
    RankData& data = data_of(rank);
    sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    config.maxDelay = 1;
    config.k = kKept;
    config.mixing = 0.5;
    sparsecollResult_t result =
        sparsecollResidualCreate(&data.residual, kLength, sparsecollFloat32, comm(rank));
    const auto then = [&](auto call) {
      if (result == sparsecollSuccess) result = synchronize(call(), rank);
    };
    then([&] { return dense(data, rank); });
    then([&] { return sparsecollResidualSave(data.residual, data.residual_path.c_str()); });
    then([&] {
      return sparsecollPushSumCreate(&data.state, kLength, sparsecollFloat64, &config, comm(rank));
    });
    then([&] { return perform(Operation::kStep, rank); });
    then([&] { return perform(Operation::kDrain, rank); });
    then([&] { return sparsecollPushSumSave(data.state, data.state_path.c_str()); });
    return test::expect("before", result, sparsecollSuccess, comm(rank));
  }

  test::Folder folder_;
  Communicators communicators_;
  std::vector<std::unique_ptr<RankData>> data_;
};

/// The thread whose allocations fail.
enum class FailingThread {
  kCaller,     ///< the calling thread of a blocking communicator
  kSubmitter,  ///< the calling thread of a communicator with a queue
  kQueue       ///< the thread that executes the queue
};

struct Trial {
  Operation operation;
  int victim;
  FailingThread thread;
  AllocationFailures failures;
};

/// Performs the operation on the victim while its allocations fail.
sparsecollResult_t perform_with_failures(TwoRanks& ranks, const Trial& trial, size_t* allocations) {
  if (trial.thread != FailingThread::kQueue) {
    begin_allocation_failures(trial.failures);
    const sparsecollResult_t result = ranks.perform(trial.operation, trial.victim);
    *allocations = end_allocation_failures();
    return ranks.synchronize(result, trial.victim);
  }
  Queue& queue = *ranks.communicators()[trial.victim].queue();
  queue.push(Queue::Kind::local, "", [&trial] { begin_allocation_failures(trial.failures); });
  const sparsecollResult_t result = ranks.perform(trial.operation, trial.victim);
  queue.push(Queue::Kind::local, "", [allocations] { *allocations = end_allocation_failures(); });
  return ranks.synchronize(result, trial.victim);
}

std::string check_result(TwoRanks& ranks, const Trial& trial, int rank, sparsecollResult_t result) {
  const bool is_victim = rank == trial.victim;
  const sparsecollResult_t failure = is_victim ? sparsecollSystemError : sparsecollRemoteError;
  const bool allowed = trial.failures.fails_at > 0 && result == failure;
  if (result != sparsecollSuccess && !allowed) return test::explain(result, ranks.comm(rank));
  if (result == sparsecollSuccess) return "";
  const sparsecollResult_t again = ranks.call_again(rank);
  return again == result ? "" : "again: " + test::explain(again, ranks.comm(rank));
}

std::string run(const Trial& trial, size_t* allocations) {
  TwoRanks ranks(trial.thread == FailingThread::kCaller);
  return ranks.communicators().run("allocation failures", [&](int rank) {
    // The drain needs messages in flight.
    if (trial.operation == Operation::kDrain)
      ranks.synchronize(ranks.perform(Operation::kStep, rank), rank);
    const auto start = Clock::now();
    const sparsecollResult_t result =
        rank == trial.victim ? perform_with_failures(ranks, trial, allocations)
                             : ranks.synchronize(ranks.perform(trial.operation, rank), rank);
    std::string verdict = check_result(ranks, trial, rank, result) + ranks.use_child(rank);
    if (Clock::now() - start > std::chrono::duration<double>(kAtOnce)) verdict += "; late";
    return verdict;
  });
}

/// Runs the operation once for each allocation that it makes, and lets that allocation fail.
/// Returns the number of allocations.
size_t fail_each_allocation(Operation operation, int victim, FailingThread thread) {
  size_t allocations = 0, ignored = 0;
  INFO("operation " << static_cast<int>(operation) << ", rank " << victim << ", thread "
                    << static_cast<int>(thread));
  REQUIRE(run({operation, victim, thread, {}}, &allocations) == "");
  const size_t stride = test::small_run() ? 7 : 1;
  for (size_t n = 1; n <= allocations; n += stride) {
    for (const bool lasting : {false, true}) {
      INFO("allocation " << n << " of " << allocations << (lasting ? " and all later ones" : ""));
      REQUIRE(run({operation, victim, thread, {n, lasting}}, &ignored) == "");
    }
  }
  return allocations;
}

TEST_CASE("every `new` of a collective call may fail") {
  for (const Operation operation : kCollective)
    for (const int victim : {0, 1})
      CHECK(fail_each_allocation(operation, victim, FailingThread::kCaller) > 0);
}

TEST_CASE("every `new` of a queued call may fail, on the queue's thread and on the caller's") {
  for (const Operation operation : kCollective) {
    if (operation == Operation::kSplit || operation == Operation::kQueuedSplit ||
        operation == Operation::kCreate)
      continue;  // never queued
    CHECK(fail_each_allocation(operation, 1, FailingThread::kSubmitter) > 0);
    CHECK(fail_each_allocation(operation, 1, FailingThread::kQueue) > 0);
  }
}

/// Calls a local function on rank 0 while allocations fail, then makes calls on all ranks.
std::string run_local(Operation operation, const AllocationFailures& failures,
                      size_t* allocations) {
  TwoRanks ranks(true);
  begin_allocation_failures(failures);
  const sparsecollResult_t result = ranks.perform(operation, 0);
  *allocations = end_allocation_failures();
  const bool allowed =
      result == sparsecollSuccess || (result == sparsecollSystemError && failures.fails_at > 0);
  if (!allowed) return test::explain(result, ranks.comm(0));
  return ranks.communicators().run("after allocation failures", [&](int rank) {
    sparsecollResult_t next = ranks.call_again(rank);
    if (next == sparsecollSuccess) next = ranks.perform(Operation::kStep, rank);
    return test::expect("afterwards", next, sparsecollSuccess, ranks.comm(rank));
  });
}

TEST_CASE("a local function whose allocation fails changes nothing") {
  for (const Operation operation : kLocal) {
    size_t allocations = 0, ignored = 0;
    INFO("operation " << static_cast<int>(operation));
    REQUIRE(run_local(operation, {}, &allocations) == "");
    CHECK(allocations > 0);
    for (size_t n = 1; n <= allocations; ++n)
      for (const bool lasting : {false, true})
        REQUIRE(run_local(operation, {n, lasting}, &ignored) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
