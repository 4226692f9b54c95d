// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of ranks that are slow, late, or never make a call, and of delayed messages.

#include <atomic>
#include <chrono>
#include <thread>

#include "api/communicators.hpp"
#include "fault/cases.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"

namespace sparsecoll::fault {
namespace {

using std::chrono::milliseconds;
using unit::Communicators;
using unit::Report;
using unit::Task;

constexpr int kTimeoutMs = 250;  ///< where ranks wait for one that does not come

std::vector<Task> tasks() {
  std::vector<Task> all;
  for (const test::Mode& mode :
       {test::kAuto, test::kAllgather, test::kOktopk, test::kDense, test::kGtopk}) {
    Task task;
    task.mode = mode;
    task.n = 700;
    task.k = 50;
    all.push_back(task);
    if (!test::has_coordinate_form(mode)) continue;
    task.coordinate_form = true;
    task.k = SPARSECOLL_ALL;
    all.push_back(task);
  }
  return all;
}

/// A task on P ranks. The special rank is slow, late or does not make the call.
struct Case {
  Task task;
  int P;
  int special;
};

std::vector<Case> cases(const std::vector<int>& ranks) {
  std::vector<Case> all;
  for (const int P : ranks)
    for (const Task& task : tasks())
      for (const int special : {0, P - 1}) all.push_back({task, P, special});
  return all;
}

using Body = std::function<std::string(int rank, const std::function<Report()>& call)>;

/// Runs body(rank, call) on each rank. `call` makes the call of the task.
std::string run(const Case& c, int timeout_ms, const FaultPlan& plan, const Body& body) {
  const auto step = unit::make_step(c.task, unit::first_residuals<float>(c.task, c.P));
  sparsecollConfig_t config = test::config_of(c.task.mode);
  config.timeoutMs = timeout_ms;
  Communicators ranks(c.P, config, plan);
  auto residuals = test::make_residuals<float>(ranks.handles(), c.task.n, true);
  for (size_t r = 0; r < residuals.size(); ++r) residuals[r].write(step.before[r]);
  return ranks.run(text(describe(c.task, c.P), ", special rank ", c.special), [&](int rank) {
    return body(rank, [&] {
      return make_call(step, rank, ranks.handle(rank), residuals[static_cast<size_t>(rank)]);
    });
  });
}

std::string expect_success(const Report& report) {
  return report.result == sparsecollSuccess ? report.wrong : describe(report);
}

/// Checks that a call failed in time and changed nothing, because the special rank did not make it.
std::string expect_failure(const Report& report, double limit) {
  const bool known = report.result == sparsecollTimeout || report.result == sparsecollRemoteError;
  if (!known || report.changed || !report.wrong.empty()) return describe(report);
  return report.seconds < limit ? "" : "late: " + describe(report);
}

TEST_CASE("a rank that is slow to 0.8 of the deadline changes no result") {
  const auto all = cases({2, 5});
  CHECK(run_cases(all.size(), [&](size_t i) {
          return test::with_longer_deadlines(4000, [&](int ms) {
            return run(all[i], ms, {}, [&](int rank, const auto& call) {
              if (rank == all[i].special) std::this_thread::sleep_for(milliseconds(ms * 8 / 10));
              return expect_success(call());
            });
          });
        }) == "");
}

TEST_CASE("if a rank never makes a call, the others fail in time and change nothing") {
  const auto all = cases({2, 3, 5});
  CHECK(run_cases(all.size(), [&](size_t i) {
          return test::unless_late_by_chance([&] {
            return run(all[i], kTimeoutMs, {}, [&](int rank, const auto& call) -> std::string {
              if (rank == all[i].special) return "";
              const Report report = call();
              // The message may name another rank than the missing one: some ranks wait for others
              // that wait for it.
              if (report.message.find("nothing was heard from rank") == std::string::npos)
                return "no rank is named: " + describe(report);
              return expect_failure(report, kTimeoutMs / 1000.0 + test::patience());
            });
          });
        }) == "");
}

TEST_CASE("a rank that makes a call after the deadline fails at once") {
  const auto all = cases({2, 3});
  CHECK(run_cases(all.size(), [&](size_t i) {
          return test::unless_late_by_chance([&] {
            std::atomic<int> failed{0};
            return run(all[i], kTimeoutMs, {}, [&](int rank, const auto& call) -> std::string {
              const bool special = rank == all[i].special;
              while (special && failed < all[i].P - 1) std::this_thread::sleep_for(milliseconds(1));
              const Report report = call();
              ++failed;
              return expect_failure(report, special ? 0.2 * test::patience()
                                                    : kTimeoutMs / 1000.0 + test::patience());
            });
          });
        }) == "");
}

TEST_CASE("delayed messages change no bit") {
  const size_t seeds = test::small_run() ? 1 : 4;
  const auto all = cases({2, 3, 4, 5});
  CHECK(run_cases(all.size() * seeds, [&](size_t i) {
          const uint64_t seed = test::base_seed() * 100000 + i;
          const FaultPlan plan = [seed](int sender, int receiver, size_t number) {
            const uint64_t bits =
                test::noise(seed, number, static_cast<uint64_t>(sender * 64 + receiver));
            MessageFault fault;
            fault.delay = std::chrono::microseconds(bits % 2 == 0 ? bits % 5000 : 0);
            return fault;
          };
          const std::string verdict =
              run(all[i % all.size()], 30000, plan,
                  [](int, const auto& call) { return expect_success(call()); });
          return verdict.empty() ? "" : text("seed ", seed, ": ", verdict);
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::fault
