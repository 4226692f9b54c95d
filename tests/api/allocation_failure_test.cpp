// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The n-th `new` of one rank fails, for each n, or all from the n-th on, wherever in the library it
// is: before the call is counted, while it is queued, in the middle, behind the commit. The rank
// says sparsecollSystemError or is done; the others are done too or hear of it at once, and nobody
// waits for the deadline.

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

enum class Act {
  kDense,
  kCoordinates,
  kAlltoall,
  kReduceScatter,
  kGroup,
  kSplit,
  kQueuedSplit,  ///< a part whose calls are queued
  kCreate,
  kStep,
  kDrain,
  kResidualLoad,
  kResidualCreate,
  kStateLoad
};
constexpr Act kCollective[] = {
    Act::kDense, Act::kCoordinates, Act::kAlltoall, Act::kReduceScatter, Act::kGroup,
    Act::kSplit, Act::kQueuedSplit, Act::kCreate,   Act::kStep,          Act::kDrain};
constexpr Act kLocal[] = {Act::kResidualLoad, Act::kResidualCreate, Act::kStateLoad};

constexpr size_t kLength = 300;
constexpr size_t kKept = 20;
constexpr int kTimeoutMs = 20000;
constexpr double kAtOnce = 8;  // seconds, on a busy machine

/// Everything that one rank's calls use, made before memory becomes scarce.
struct Belongings {
  explicit Belongings(int rank)
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
  sparsecollComm_t part = nullptr;
  std::string residual_path, state_path;
};

/// Two ranks that have made some calls already, so that shapes are warm, messages are under way and
/// files are there.
class Stage {
 public:
  explicit Stage(bool blocking) : ranks_(2, config(blocking)) {
    for (int rank = 0; rank < 2; ++rank) {
      if (!blocking) ranks_[rank].start();
      own_.push_back(std::make_unique<Belongings>(rank));
      own(rank).residual_path = folder_.file("residual" + std::to_string(rank));
      own(rank).state_path = folder_.file("state" + std::to_string(rank));
    }
    REQUIRE(ranks_.run("before", [&](int rank) { return prepare(rank); }) == "");
  }

  Communicators& ranks() { return ranks_; }
  sparsecollComm_t comm(int rank) const { return ranks_.handle(rank); }

  /// One rank's call; takes no memory but the library's.
  sparsecollResult_t perform(Act act, int rank) {
    Belongings& b = own(rank);
    switch (act) {
      case Act::kDense:
        return dense(b, rank);
      case Act::kCoordinates:
        return sparseAllreducev(b.sparse.get(), b.out.get(), kKept, sparsecollSum, b.residual,
                                comm(rank), nullptr);
      case Act::kAlltoall:
        return sparseAlltoall(b.sparse.get(), b.out.get(), nullptr, kBounds, comm(rank), nullptr);
      case Act::kReduceScatter:
        return sparseReduceScatter(b.send.data(), b.out.get(), kLength, kKept, sparsecollFloat32,
                                   sparsecollSum, kBounds, b.residual, comm(rank), nullptr);
      case Act::kGroup:
        return group(b, rank);
      case Act::kSplit:
        return sparsecollCommSplit(comm(rank), 0, 0, &b.part, nullptr);
      case Act::kQueuedSplit: {
        const sparsecollConfig_t queued = config(false);
        return sparsecollCommSplit(comm(rank), 0, 0, &b.part, &queued);
      }
      case Act::kCreate:
        return sparsecollPushSumCreate(&b.state, kLength, sparsecollFloat64, nullptr, comm(rank));
      case Act::kStep:
        return pushSumStep(b.x.data(), nullptr, kLength, sparsecollFloat64, b.state, comm(rank),
                           nullptr);
      case Act::kDrain:
        return sparsecollPushSumDrain(b.state, b.x.data(), nullptr, nullptr);
      case Act::kResidualLoad:
        return sparsecollResidualLoad(b.residual, b.residual_path.c_str());
      case Act::kResidualCreate:
        return sparsecollResidualCreate(&b.residual, kLength, sparsecollFloat32, comm(rank));
      case Act::kStateLoad:
        return sparsecollPushSumLoad(b.state, b.state_path.c_str());
    }
    return sparsecollInternalError;
  }

  sparsecollResult_t settle(sparsecollResult_t queued, int rank) const {
    const sparsecollResult_t end = sparsecollCommSynchronize(comm(rank));
    return queued == sparsecollSuccess ? end : queued;
  }

  /// That a rank whose call failed is poisoned, or that the ranks go on together.
  sparsecollResult_t again(int rank) { return settle(dense(own(rank), rank), rank); }

  /// A rank that has a part of a split can use it, or hears that the other rank never came to it.
  std::string use_part(int rank) {
    Belongings& b = own(rank);
    if (b.part == nullptr) return "";
    sparsecollResult_t result =
        sparseAllreduce(b.send.data(), b.recv.data(), kLength, kKept, sparsecollFloat32,
                        sparsecollSum, nullptr, b.part, nullptr);
    if (result == sparsecollSuccess) result = sparsecollCommSynchronize(b.part);
    const bool sound = result == sparsecollSuccess || result == sparsecollRemoteError;
    const std::string verdict = sound ? "" : "its part: " + test::explain(result, b.part);
    sparsecollCommDestroy(b.part);
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

  Belongings& own(int rank) { return *own_[static_cast<size_t>(rank)]; }

  sparsecollResult_t dense(Belongings& b, int rank) const {
    return sparseAllreduce(b.send.data(), b.recv.data(), kLength, kKept, sparsecollFloat32,
                           sparsecollSum, b.residual, comm(rank), nullptr);
  }

  sparsecollResult_t group(Belongings& b, int rank) const {
    sparsecollResult_t result = sparsecollGroupStart(comm(rank));
    if (result == sparsecollSuccess) result = dense(b, rank);
    if (result == sparsecollSuccess)
      result = gtopkAllreduce(b.send.data(), b.other.data(), kLength, kKept, sparsecollFloat32,
                              sparsecollSum, nullptr, comm(rank), nullptr);
    const sparsecollResult_t end = sparsecollGroupEnd(comm(rank));
    return result == sparsecollSuccess ? end : result;
  }

  std::string prepare(int rank) {
    Belongings& b = own(rank);
    sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    config.maxDelay = 1;
    config.k = kKept;
    config.mixing = 0.5;
    sparsecollResult_t result =
        sparsecollResidualCreate(&b.residual, kLength, sparsecollFloat32, comm(rank));
    const auto then = [&](auto call) {
      if (result == sparsecollSuccess) result = settle(call(), rank);
    };
    then([&] { return dense(b, rank); });
    then([&] { return sparsecollResidualSave(b.residual, b.residual_path.c_str()); });
    then([&] {
      return sparsecollPushSumCreate(&b.state, kLength, sparsecollFloat64, &config, comm(rank));
    });
    then([&] { return perform(Act::kStep, rank); });
    then([&] { return perform(Act::kDrain, rank); });
    then([&] { return sparsecollPushSumSave(b.state, b.state_path.c_str()); });
    return test::expect("before", result, sparsecollSuccess, comm(rank));
  }

  test::Folder folder_;
  Communicators ranks_;
  std::vector<std::unique_ptr<Belongings>> own_;
};

/// Whose `new` fails.
enum class Where {
  kCaller,     ///< the thread that calls, where calls block
  kSubmitter,  ///< the same, where calls are queued
  kQueue       ///< the thread that makes queued calls
};

struct Trial {
  Act act;
  int victim;
  Where where;
  AllocationFailures failures;
};

sparsecollResult_t suffer(Stage& stage, const Trial& trial, size_t* asked) {
  if (trial.where != Where::kQueue) {
    begin_allocation_failures(trial.failures);
    const sparsecollResult_t result = stage.perform(trial.act, trial.victim);
    *asked = end_allocation_failures();
    return stage.settle(result, trial.victim);
  }
  Queue& queue = *stage.ranks()[trial.victim].queue();
  queue.push(Queue::Kind::local, "", [&trial] { begin_allocation_failures(trial.failures); });
  const sparsecollResult_t result = stage.perform(trial.act, trial.victim);
  queue.push(Queue::Kind::local, "", [asked] { *asked = end_allocation_failures(); });
  return stage.settle(result, trial.victim);
}

std::string judge_collective(Stage& stage, const Trial& trial, int rank,
                             sparsecollResult_t result) {
  const bool is_victim = rank == trial.victim;
  const sparsecollResult_t failure = is_victim ? sparsecollSystemError : sparsecollRemoteError;
  const bool allowed = trial.failures.fails_at > 0 && result == failure;
  if (result != sparsecollSuccess && !allowed) return test::explain(result, stage.comm(rank));
  if (result == sparsecollSuccess) return "";
  const sparsecollResult_t again = stage.again(rank);
  return again == result ? "" : "again: " + test::explain(again, stage.comm(rank));
}

std::string run(const Trial& trial, size_t* asked) {
  Stage stage(trial.where == Where::kCaller);
  return stage.ranks().run("allocation failures", [&](int rank) {
    // So that there is something to drain.
    if (trial.act == Act::kDrain) stage.settle(stage.perform(Act::kStep, rank), rank);
    const auto start = Clock::now();
    const sparsecollResult_t result = rank == trial.victim
                                          ? suffer(stage, trial, asked)
                                          : stage.settle(stage.perform(trial.act, rank), rank);
    std::string verdict = judge_collective(stage, trial, rank, result) + stage.use_part(rank);
    if (Clock::now() - start > std::chrono::duration<double>(kAtOnce)) verdict += "; late";
    return verdict;
  });
}

/// Each allocation in turn; how many there were.
size_t starve_everywhere(Act act, int victim, Where where) {
  size_t allocations = 0, ignored = 0;
  INFO("act " << static_cast<int>(act) << ", rank " << victim << ", where "
              << static_cast<int>(where));
  REQUIRE(run({act, victim, where, {}}, &allocations) == "");
  const size_t stride = test::small_run() ? 7 : 1;
  for (size_t n = 1; n <= allocations; n += stride) {
    for (const bool lasting : {false, true}) {
      INFO("allocation " << n << " of " << allocations << (lasting ? " and all later ones" : ""));
      REQUIRE(run({act, victim, where, {n, lasting}}, &ignored) == "");
    }
  }
  return allocations;
}

TEST_CASE("every `new` of a collective call may fail") {
  for (const Act act : kCollective)
    for (const int victim : {0, 1}) CHECK(starve_everywhere(act, victim, Where::kCaller) > 0);
}

TEST_CASE("every `new` of a queued call may fail, on the queue's thread and on the caller's") {
  for (const Act act : kCollective) {
    if (act == Act::kSplit || act == Act::kQueuedSplit || act == Act::kCreate)
      continue;  // complete on return, never queued
    CHECK(starve_everywhere(act, 1, Where::kSubmitter) > 0);
    CHECK(starve_everywhere(act, 1, Where::kQueue) > 0);
  }
}

/// A local function on rank 0; then all ranks go on.
std::string run_local(Act act, const AllocationFailures& failures, size_t* asked) {
  Stage stage(true);
  begin_allocation_failures(failures);
  const sparsecollResult_t result = stage.perform(act, 0);
  *asked = end_allocation_failures();
  const bool allowed =
      result == sparsecollSuccess || (result == sparsecollSystemError && failures.fails_at > 0);
  if (!allowed) return test::explain(result, stage.comm(0));
  return stage.ranks().run("after allocation failures", [&](int rank) {
    sparsecollResult_t next = stage.again(rank);
    if (next == sparsecollSuccess) next = stage.perform(Act::kStep, rank);
    return test::expect("afterwards", next, sparsecollSuccess, stage.comm(rank));
  });
}

TEST_CASE("a local function that finds no memory changes nothing") {
  for (const Act act : kLocal) {
    size_t allocations = 0, ignored = 0;
    INFO("act " << static_cast<int>(act));
    REQUIRE(run_local(act, {}, &allocations) == "");
    CHECK(allocations > 0);
    for (size_t n = 1; n <= allocations; ++n)
      for (const bool lasting : {false, true})
        REQUIRE(run_local(act, {n, lasting}, &ignored) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
