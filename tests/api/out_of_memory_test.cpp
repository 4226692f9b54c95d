// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The n-th allocation of a call fails, for each n. Every rank gets an error or the right result, no
// rank waits forever, nothing leaks, and a residual is as before or as after the call.

#include "api/communicators.hpp"
#include "api/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"

namespace sparsecoll::unit {
namespace {

std::vector<Task> tasks(size_t n, size_t k) {
  std::vector<Task> all;
  for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kTopkA2A,
                                 test::kHierarchical, test::kSharded, test::kDense, test::kGtopk}) {
    Task task;
    task.mode = mode;
    task.n = n;
    task.k = k;
    all.push_back(task);
    if (!test::has_coordinate_form(mode)) continue;
    task.coordinate_form = true;
    task.sparse_kind = test::SparseKind::kFull;
    all.push_back(task);
    task.k = SPARSECOLL_ALL;
    all.push_back(task);
    task.no_room = true;
    all.push_back(task);
  }
  return all;
}

/// The rank and the memory whose allocation fails.
struct Victim {
  int rank;
  bool receives;  ///< the memory for received messages; otherwise workspace and state
};

/// Makes the call of `step` on all ranks of new communicators. The victim's n-th allocation fails;
/// with n = 0 none does. Sets *allocations to the number of allocations.
std::string run_once(const Step<float>& step, int P, const Victim& victim, size_t n, int timeout_ms,
                     size_t* allocations) {
  sparsecollConfig_t config = test::config_of(step.task.mode);
  config.timeoutMs = timeout_ms;
  Communicators ranks(P, config);
  auto residuals = test::make_residuals<float>(ranks.handles(), step.task.n, true);
  for (size_t r = 0; r < residuals.size(); ++r) residuals[r].write(step.before[r]);
  Memory& memory =
      victim.receives ? ranks.receive_memory(victim.rank) : host_memory(ranks[victim.rank]);
  const size_t before = memory.allocations();
  memory.fail_at(n);
  std::string verdict = ranks.run(describe(step.task, P), [&](int rank) -> std::string {
    const Report first = make_call(step, rank, ranks.handle(rank), residuals[size_t(rank)]);
    if (!first.wrong.empty()) return describe(first);
    if (first.seconds > 10) return "late: " + describe(first);
    if (first.result == sparsecollSuccess) return "";
    if (n == 0) return describe(first);
    if (first.result != sparsecollSystemError && first.result != sparsecollRemoteError)
      return describe(first);
    const Report again = make_call(step, rank, ranks.handle(rank), residuals[size_t(rank)]);
    if (again.seconds > 1) return "late: again: " + describe(again);
    return again.result == first.result ? "" : "again: " + describe(again);
  });
  *allocations = memory.allocations() - before;
  if (!verdict.empty())
    verdict += text("\n    allocation ", n, " of rank ", victim.rank, "'s ",
                    victim.receives ? "receive memory" : "memory");
  return verdict;
}

std::string run(const Step<float>& step, int P, const Victim& victim, size_t n,
                size_t* allocations) {
  return test::with_longer_deadlines(
      20000, [&](int ms) { return run_once(step, P, victim, n, ms, allocations); });
}

TEST_CASE("every allocation of a call may fail") {
  for (const int P : {1, 2, 3}) {
    if (test::small_run() && P == 3) continue;
    for (const Task& task : tasks(20000, 5000)) {
      const Step<float> step = make_step(task, first_residuals<float>(task, P));
      for (int rank = 0; rank < P; ++rank) {
        for (const bool receives : {false, true}) {
          size_t allocations = 0, ignored = 0;
          REQUIRE(run(step, P, {rank, receives}, 0, &allocations) == "");
          if (!receives) CHECK(allocations > 0);
          for (size_t n = 1; n <= allocations; ++n)
            REQUIRE(run(step, P, {rank, receives}, n, &ignored) == "");
        }
      }
    }
  }
}

/// Makes a call on one rank with `room` bytes left in its arena and no memory for another block.
std::string run_with_room(const Step<float>& step, size_t room) {
  Communicators ranks(1, test::config_of(step.task.mode));
  Communicator& rank = ranks[0];
  test::Residual<float> residual(ranks.handle(0), step.task.n);
  residual.write(step.before[0]);
  const Arena::Scope scope(rank.backends().arena());
  const size_t before = host_memory(rank).bytes_in_use();
  rank.backends().arena().take<std::byte>(kAlignment);
  const size_t block = host_memory(rank).bytes_in_use() - before;
  rank.backends().arena().take<std::byte>(block - kAlignment - room);
  host_memory(rank).fail_at(1);
  const Report report = make_call(step, 0, ranks.handle(0), residual);
  if (!report.wrong.empty()) return describe(report);
  if (report.result == sparsecollSystemError && report.changed)
    return "an error after the commit: " + describe(report);
  const bool known = report.result == sparsecollSuccess || report.result == sparsecollSystemError;
  return known ? "" : describe(report);
}

TEST_CASE("every allocation of workspace may be the one that fails") {
  for (const Task& task : tasks(300, 60)) {
    const Step<float> step = make_step(task, first_residuals<float>(task, 1));
    INFO(describe(task, 1));
    for (size_t room = 0; room <= 40000; room += kAlignment)
      REQUIRE(run_with_room(step, room) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
