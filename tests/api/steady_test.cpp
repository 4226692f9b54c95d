// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// In the steady state, after the third call of a shape, calls use no allocator of the library, and
// the heap of the process holds as many blocks and bytes as before. Every call has other data.

#include <array>
#include <barrier>
#include <utility>

#include "api/communicators.hpp"
#include "api/heap_count.hpp"
#include "api/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/step.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kLength = 2000;
constexpr size_t kKept = 40;

/// A fast generator of random numbers (xorshift64*), with another seed for each rank.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(test::noise(seed, 1) | 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  /// Returns a value; the magnitudes of the values differ widely.
  float value() {
    const float x = static_cast<float>(static_cast<int64_t>(next()) >> 40) * 0x1p-23f;
    return x * x * x;
  }

 private:
  uint64_t state_;
};

/// How a worker makes its calls: alone, or both forms of the verb in a group
/// (twice the dense form if there is no other).
enum class Grouping { none, groups };

/// Makes calls on one rank, with the rank's buffers and residual.
class Worker {
 public:
  Worker(const test::Mode& mode, Grouping grouping, sparsecollComm_t comm, uint64_t seed)
      : mode_(mode),
        grouping_(grouping),
        comm_(comm),
        random_(seed),
        dense_(kLength),
        result_(kLength),
        second_(kLength),
        residual_(comm, kLength),
        selected_(kLength, sparsecollIndex32, kKept),
        reduced_(kLength, sparsecollIndex32, kLength) {}

  /// Makes a call in dense form, then the same in coordinate form: select, v verb, scatter.
  sparsecollResult_t call() {
    for (float& value : dense_) value = random_.value();
    if (grouping_ == Grouping::groups) return call_group();
    const sparsecollResult_t result = test::call_dense_verb<float>(
        mode_.verb,
        {dense_.data(), result_.data(), kLength, kKept, sparsecollAvg, residual_.handle()}, comm_);
    early_ = false;
    note_algorithm(0);
    if (!test::has_coordinate_form(mode_) || result != sparsecollSuccess) return result;
    return call_coordinate_form();
  }

  /// Returns whether the last call was one of the first three after a form has changed its
  /// algorithm. The answer is the same on all ranks.
  bool was_early() const { return early_; }

 private:
  /// The last calls of a form, all by the same algorithm.
  struct Streak {
    int algorithm = 0;
    int calls = 0;
  };

  sparsecollResult_t select() {
    return sparsecollTopk(dense_.data(), kLength, kKept, sparsecollFloat32, residual_.handle(),
                          selected_.get(), comm_, nullptr);
  }

  /// Makes two calls in a group, one of them without a residual.
  sparsecollResult_t call_dense_group() {
    sparsecollGroupStart(comm_);
    for (const sparsecollResidual_t residual : {residual_.handle(), sparsecollResidual_t{}})
      sparseAllreduce(dense_.data(), residual ? result_.data() : second_.data(), kLength, kKept,
                      sparsecollFloat32, sparsecollSum, residual, comm_, nullptr);
    return sparsecollGroupEnd(comm_);
  }

  sparsecollResult_t call_group() {
    if (!test::has_coordinate_form(mode_)) return call_dense_group();
    const auto dense = mode_.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    const auto sparse = mode_.verb == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
    const sparsecollResult_t result = select();
    if (result != sparsecollSuccess) return result;
    sparsecollGroupStart(comm_);
    dense(dense_.data(), result_.data(), kLength, kKept, sparsecollFloat32, sparsecollSum,
          residual_.handle(), comm_, nullptr);
    sparse(selected_.get(), reduced_.get(), kKept, sparsecollSum, nullptr, comm_, nullptr);
    return sparsecollGroupEnd(comm_);
  }

  sparsecollResult_t call_coordinate_form() {
    sparsecollResult_t result = select();
    if (result != sparsecollSuccess) return result;
    result = test::call_sparse_verb(
        mode_.verb, {selected_.get(), reduced_.get(), kKept, sparsecollSum, residual_.handle()},
        comm_);
    if (result != sparsecollSuccess) return result;
    note_algorithm(1);
    result = sparsecollScatter(reduced_.get(), result_.data(), comm_, nullptr);
    return result == sparsecollSuccess ? call_exchanges() : result;
  }

  /// Makes a sparseAlltoall and a sparseReduceScatter.
  sparsecollResult_t call_exchanges() {
    const sparsecollResult_t result =
        sparseAlltoall(selected_.get(), reduced_.get(), nullptr, nullptr, comm_, nullptr);
    if (result != sparsecollSuccess) return result;
    return sparseReduceScatter(dense_.data(), reduced_.get(), kLength, kKept, sparsecollFloat32,
                               sparsecollSum, nullptr, residual_.handle(), comm_, nullptr);
  }

  /// Counts the call that has just ended.
  void note_algorithm(size_t form) {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollCommGetStats(comm_, sparsecollStatsLast, &stats);
    Streak& streak = streaks_[form];
    if (std::exchange(streak.algorithm, stats.algorithm) != stats.algorithm) streak.calls = 0;
    early_ |= ++streak.calls <= 3;
  }

  const test::Mode& mode_;
  const Grouping grouping_;
  sparsecollComm_t comm_;
  Random random_;
  std::vector<float> dense_, result_, second_;
  test::Residual<float> residual_;
  test::SparseBuffer<float> selected_, reduced_;
  std::array<Streak, 2> streaks_{};  ///< of the dense and of the coordinate form
  bool early_ = false;
};

size_t allocations(Communicators& ranks) {
  size_t all = 0;
  for (int r = 0; r < ranks.size(); ++r)
    all += host_memory(ranks[r]).allocations() + ranks.receive_memory(r).allocations();
  return all;
}

struct Growth {
  size_t allocations = 0;  ///< of the library's own allocators
  HeapCount heap_before, heap_after;
};

/// Makes three calls, then `calls` more, and measures how memory grows during the latter.
std::string run(const test::Mode& mode, Grouping grouping, int P, int calls, Growth* growth) {
  Communicators ranks(P, test::config_of(mode));
  std::barrier all(P);
  size_t before = 0;
  return ranks.run(text(mode.name, " P=", P), [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    Worker worker(mode, grouping, comm, test::base_seed() + static_cast<uint64_t>(rank));
    std::string wrong;
    for (int call = 0; call < 3 + calls; ++call) {
      if (call == 3) {
        all.arrive_and_wait();
        if (rank == 0) {
          before = allocations(ranks);
          growth->heap_before = heap_count();
        }
        all.arrive_and_wait();
      }
      const sparsecollResult_t result = worker.call();
      if (result != sparsecollSuccess && wrong.empty())
        wrong = text("call ", call, ": ", test::explain(result, comm));
    }
    all.arrive_and_wait();
    if (rank == 0) {
      growth->allocations = allocations(ranks) - before;
      growth->heap_after = heap_count();
    }
    all.arrive_and_wait();
    return wrong;
  });
}

void check_steady(const test::Mode& mode, Grouping grouping, int P) {
  const int calls = test::small_run() ? 100 : 4000;  // in each form
  Growth growth;
  INFO(mode.name << " P=" << P);
  CHECK(run(mode, grouping, P, calls, &growth) == "");
  CHECK(growth.allocations == 0);
  CHECK(growth.heap_after.blocks == growth.heap_before.blocks);
  CHECK(growth.heap_after.bytes == growth.heap_before.bytes);
}

TEST_CASE("the test counts the heap") {
  const HeapCount before = heap_count();
  void* const bytes = ::operator new(1000);  // a new expression might be optimised away
  const HeapCount with = heap_count();
  ::operator delete(bytes);
  if (!kSanitized) CHECK(with == HeapCount{before.blocks + 1, before.bytes + 1000});
  CHECK(heap_count() == before);
}

TEST_CASE("after the third call of a shape nothing is allocated and the heap does not grow") {
  for (const int P : {1, 2, 4, 5})
    for (const test::Mode& mode :
         {test::kAllgather, test::kOktopk, test::kReuse, test::kTopkA2A, test::kHierarchical,
          test::kDense, test::kGtopk, test::kSharded, test::kBf16Modes[1],
          test::over_bf16(test::kGtopk, "gtopkAllreduce, bf16")})
      check_steady(mode, Grouping::none, P);
}

/// The calls in which Auto has tried its algorithms twice.
constexpr int kTwoTrials = 100;

/// Makes calls by Auto. Adds up how memory grows after the first trials, and in them between
/// changes of the algorithm.
std::string run_auto(int P, int calls, Growth* growth) {
  Communicators ranks(P, test::config_of(test::kAuto));
  std::barrier all(P);
  size_t before = 0;
  return ranks.run(text("Auto P=", P), [&](int rank) -> std::string {
    Worker worker(test::kAuto, Grouping::none, ranks.handle(rank),
                  test::base_seed() + static_cast<uint64_t>(rank));
    for (int call = 0; call < calls; ++call) {
      const sparsecollResult_t result = worker.call();
      if (result != sparsecollSuccess) return test::explain(result, ranks.handle(rank));
      all.arrive_and_wait();
      if (rank == 0) {
        const size_t now = allocations(ranks);
        const HeapCount heap = heap_count();
        if (!worker.was_early() || call >= kTwoTrials) {
          growth->allocations += now - before;
          growth->heap_after.blocks += heap.blocks - growth->heap_before.blocks;
          growth->heap_after.bytes += heap.bytes - growth->heap_before.bytes;
        }
        before = now;
        growth->heap_before = heap;
      }
      all.arrive_and_wait();
    }
    return "";
  });
}

// When Auto tries an algorithm again, residuals have grown, and messages may be longer than in its
// first three calls.
TEST_CASE("Auto allocates in two rounds of trials, and nothing between and after them") {
  for (const int P : {1, 2, 4, 5}) {
    CAPTURE(P);
    Growth growth;
    CHECK(run_auto(P, test::small_run() ? 200 : 4000, &growth) == "");
    CHECK(growth.allocations == 0);
    CHECK(growth.heap_after.blocks == 0);
    CHECK(growth.heap_after.bytes == 0);
  }
}

// Reused thresholds are not tested in groups, because a message may then be longer than all before.
TEST_CASE("after the third group of a shape nothing is allocated and the heap does not grow") {
  for (const int P : {1, 2, 4, 5})
    for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kHierarchical,
                                   test::kSharded, test::kGtopk, test::kBf16Modes[1]})
      check_steady(mode, Grouping::groups, P);
}

}  // namespace
}  // namespace sparsecoll::unit
