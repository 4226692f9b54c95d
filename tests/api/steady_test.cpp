// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// In the steady state, after the third call of a shape, calls use no allocator of the library and
// the process does not grow. Every call has other data.

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <barrier>
#include <fstream>

#include "api/communicators.hpp"
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

/// How a worker makes its calls: alone, or both forms of the verb in a group.
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
    if (!test::has_coordinate_form(mode_) || result != sparsecollSuccess) return result;
    return call_coordinate_form();
  }

 private:
  sparsecollResult_t select() {
    return sparsecollTopk(dense_.data(), kLength, kKept, sparsecollFloat32, residual_.handle(),
                          selected_.get(), comm_, nullptr);
  }

  sparsecollResult_t call_group() {
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

  const test::Mode& mode_;
  const Grouping grouping_;
  sparsecollComm_t comm_;
  Random random_;
  std::vector<float> dense_, result_;
  test::Residual<float> residual_;
  test::SparseBuffer<float> selected_, reduced_;
};

size_t allocations(Communicators& ranks) {
  size_t all = 0;
  for (int r = 0; r < ranks.size(); ++r)
    all += host_memory(ranks[r]).allocations() + ranks.receive_memory(r).allocations();
  return all;
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// Bytes by which the process may grow. The smallest block of malloc has 32 bytes; a leak of one
/// such block in each call would be 256 KB over 8,000 calls of one rank. The measured growth is at
/// most 28 KiB.
constexpr size_t kTolerance = 100 << 10;

struct Growth {
  size_t allocations = 0;
  size_t resident = 0;
  size_t heap = 0;  ///< bytes in use by all threads
};

size_t heap_bytes() { return mallinfo2().uordblks; }

/// Makes three calls, then `calls` calls of which it measures the growth.
std::string run(const test::Mode& mode, Grouping grouping, int P, int calls, Growth* growth) {
  Communicators ranks(P, test::config_of(mode));
  Growth before, after;
  std::barrier all(P);
  const std::string verdict = ranks.run(text(mode.name, " P=", P), [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    Worker worker(mode, grouping, comm, test::base_seed() + static_cast<uint64_t>(rank));
    std::string wrong;
    for (int call = 0; call < 3 + calls; ++call) {
      if (call == 3) {
        all.arrive_and_wait();
        if (rank == 0) before = {allocations(ranks), 0, 0};
        all.arrive_and_wait();
      }
      // Allocators of threads take memory during the first calls. This is not counted.
      if (call == 3 + calls / 10) {
        all.arrive_and_wait();
        if (rank == 0) {
          before.resident = resident_bytes();
          before.heap = heap_bytes();
        }
        all.arrive_and_wait();
      }
      const sparsecollResult_t result = worker.call();
      if (result != sparsecollSuccess && wrong.empty())
        wrong = text("call ", call, ": ", test::explain(result, comm));
    }
    all.arrive_and_wait();
    if (rank == 0) after = {allocations(ranks), resident_bytes(), heap_bytes()};
    return wrong;
  });
  growth->allocations = after.allocations - before.allocations;
  growth->resident = after.resident > before.resident ? after.resident - before.resident : 0;
  growth->heap = after.heap > before.heap ? after.heap - before.heap : 0;
  return verdict;
}

TEST_CASE("after the third call of a shape nothing is allocated and the process does not grow") {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);             // huge pages would count as growth
  const int calls = test::small_run() ? 100 : 4000;  // in each form
  for (const int P : {1, 2, 4, 5}) {
    for (const test::Mode& mode :
         {test::kAllgather, test::kOktopk, test::kReuse, test::kTopkA2A, test::kHierarchical,
          test::kDense, test::kGtopk, test::kAuto, test::kBf16Modes[1], test::kBf16Modes[4]}) {
      Growth growth;
      INFO(mode.name << " P=" << P);
      CHECK(run(mode, Grouping::none, P, calls, &growth) == "");
      CHECK(growth.allocations == 0);
      if (!kSanitized && !test::small_run()) CHECK(growth.resident < kTolerance);
    }
  }
}

// Reused thresholds are not tested in groups, because a message may then be longer than all before.
TEST_CASE("after the third group of a shape nothing is allocated and the heap does not grow") {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  const int calls = test::small_run() ? 100 : 4000;
  for (const int P : {1, 2, 4, 5}) {
    for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kHierarchical,
                                   test::kGtopk, test::kBf16Modes[1]}) {
      Growth growth;
      INFO(mode.name << " P=" << P);
      CHECK(run(mode, Grouping::groups, P, calls, &growth) == "");
      CHECK(growth.allocations == 0);
      // Resident memory is not checked, because rare branches touch new pages of a stack. A leak of
      // one block in each group would be 115 KB.
      if (!kSanitized && !test::small_run()) CHECK(growth.heap < size_t{4} << 10);
    }
  }
}

}  // namespace
}  // namespace sparsecoll::unit
