// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random schedules: calls of random verbs and shapes, with messages that are delayed, lost or
// damaged and ranks that die. Every call ends in time with an outcome that its failures allow; a
// result is right or there is none; a residual is what the oracle says before or after the call.
//
// SPARSECOLL_TEST_SEED and SPARSECOLL_TEST_CASES choose which and how many; what fails prints its
// seed.

#include "fault/cases.hpp"
#include "support/catch.hpp"
#include "unit/communicators.hpp"
#include "unit/step.hpp"

namespace sparsecoll::fault {
namespace {

using unit::Communicators;
using unit::Report;
using unit::Task;

constexpr int kTimeoutMs = 250;

enum class Trouble { kNone, kDelays, kKill, kDamage, kLoss };

/// Everything about one case, from its seed alone.
class Schedule {
 public:
  explicit Schedule(uint64_t seed)
      : seed_(seed),
        P_(1 + static_cast<int>(pick(6))),
        trouble_(static_cast<Trouble>(pick(5))),
        delays_(trouble_ == Trouble::kDelays || pick(3) == 0),
        victim_(static_cast<int>(pick(static_cast<uint64_t>(P_)))),
        message_(pick(12)),
        byte_(pick(3000)) {
    const int algorithms[] = {sparsecollAlgoAuto, sparsecollAlgoAllgather, sparsecollAlgoOktopk,
                              sparsecollAlgoDense};
    mode_ = {"sparseAllreduce", test::Verb::kSparse, algorithms[pick(4)],
             static_cast<int>(pick(2))};
    const size_t lengths[] = {0, 1, 2, 17, 300, 1500};
    n_ = lengths[pick(6)];
    for (uint64_t steps = 1 + pick(4); steps > 0; --steps) tasks_.push_back(make_task());
  }

  int P() const { return P_; }
  Trouble trouble() const { return trouble_; }
  int victim() const { return victim_; }
  const std::vector<Task>& tasks() const { return tasks_; }

  sparsecollConfig_t config() const {
    sparsecollConfig_t config = test::config_of(mode_);
    const bool lossy = trouble_ != Trouble::kNone && trouble_ != Trouble::kDelays;
    config.timeoutMs = lossy ? kTimeoutMs : 30000;
    config.repartitionInterval = 2;
    return config;
  }

  FatePlan plan() const {
    return [*this](int sender, int receiver, size_t number) {
      Fate fate;
      const uint64_t dice =
          test::noise(seed_ + 7, number, static_cast<uint64_t>(sender * 64 + receiver));
      if (delays_ && dice % 4 == 0) fate.delay = std::chrono::microseconds(dice % 3000);
      if (sender != victim_ || number != message_) return fate;
      fate.kill_sender = trouble_ == Trouble::kKill;
      fate.drop = trouble_ == Trouble::kLoss;
      if (trouble_ == Trouble::kDamage) fate.corrupt_byte = byte_;
      return fate;
    };
  }

  std::string describe() const {
    const char* const troubles[] = {"no trouble", "delays", "a death", "damage", "a loss"};
    std::string all =
        text("SPARSECOLL_TEST_SEED=", seed_,
             " SPARSECOLL_TEST_CASES=1: ", troubles[static_cast<int>(trouble_)], " at message ",
             message_, " of rank ", victim_, delays_ ? ", delayed" : "", ", algorithm ",
             mode_.algorithm, ", rule ", mode_.residual_rule);
    for (const Task& task : tasks_) all += "\n    " + unit::describe(task, P_);
    return all;
  }

 private:
  uint64_t pick(uint64_t choices) { return test::noise(seed_, ++picked_) % choices; }

  Task make_task() {
    Task task;
    task.mode = mode_;
    if (pick(2) == 0) task.mode.verb = test::Verb::kGtopk;
    if (task.mode.verb == test::Verb::kGtopk) task.mode.name = "gtopkAllreduce";
    task.coordinate_form = pick(2) == 0 && (task.mode.verb == test::Verb::kGtopk ||
                                            mode_.algorithm != sparsecollAlgoDense);
    task.n = n_;
    const size_t kept[] = {0, 1, n_ / 100, n_ / 10, n_ + 3, SPARSECOLL_ALL};
    task.k = kept[pick(6)];
    task.seed = test::noise(seed_, ++picked_);
    task.kind = test::kAllKinds[pick(std::size(test::kAllKinds))];
    task.sparse_kind = test::kAllSparseKinds[pick(std::size(test::kAllSparseKinds))];
    if (pick(3) == 0) task.op = oracle::Op::kAvg;
    task.no_room = task.coordinate_form && pick(5) == 0;
    return task;
  }

  uint64_t seed_;
  uint64_t picked_ = 0;
  int P_;
  Trouble trouble_;
  bool delays_;
  int victim_;
  size_t message_;
  size_t byte_;
  test::Mode mode_;
  size_t n_ = 0;
  std::vector<Task> tasks_;
};

bool allowed(const Schedule& schedule, int rank, sparsecollResult_t result) {
  if (result == sparsecollSuccess) return true;
  const bool heard = result == sparsecollTimeout || result == sparsecollRemoteError;
  switch (schedule.trouble()) {
    case Trouble::kNone:
    case Trouble::kDelays:
      return false;
    case Trouble::kKill:
      return rank == schedule.victim() ? result == sparsecollSystemError : heard;
    case Trouble::kDamage:
    case Trouble::kLoss:
      return heard;
  }
  return false;
}

/// One rank's calls up to the first that fails. *committed: how many took effect.
template <class T>
std::string live(const Schedule& schedule, const std::vector<unit::Step<T>>& steps, int rank,
                 sparsecollComm_t comm, const test::Residual<T>& residual, size_t* committed) {
  for (const auto& step : steps) {
    const Report report = make_call(step, rank, comm, residual);
    const std::string what = text("step ", *committed, ": ", describe(report));
    if (!report.wrong.empty()) return what;
    if (!allowed(schedule, rank, report.result)) return "not allowed: " + what;
    const double limit = schedule.config().timeoutMs / 1000.0 + test::patience();
    if (report.seconds > limit) return "late: " + what;
    if (report.result == sparsecollSuccess) {
      ++*committed;
      continue;
    }
    const Report again = make_call(step, rank, comm, residual);
    if (again.result != report.result || again.seconds > test::patience())
      return what + ", then " + describe(again);
    break;
  }
  return "";
}

template <class T>
std::string run(const Schedule& schedule) {
  std::vector<unit::Step<T>> steps;
  for (const Task& task : schedule.tasks())
    steps.push_back(unit::make_step(
        task, steps.empty() ? unit::first_residuals<T>(task, schedule.P()) : steps.back().after));
  Communicators ranks(schedule.P(), schedule.config(), schedule.plan());
  auto residuals = test::make_residuals<T>(ranks.handles(), steps[0].task.n, true);
  for (size_t r = 0; r < residuals.size(); ++r) residuals[r].write(steps[0].before[r]);
  std::vector<size_t> committed(residuals.size());
  std::string verdict = ranks.run(schedule.describe(), [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    return live(schedule, steps, rank, ranks.handle(rank), residuals[r], &committed[r]);
  });
  // A rank commits only when all others have made the same call.
  const auto [least, most] = std::minmax_element(committed.begin(), committed.end());
  if (*most > *least + 1)
    verdict +=
        text(schedule.describe(), "\n    a rank committed ", *most, " calls, another ", *least);
  return verdict;
}

TEST_CASE("random schedules end in time, and nothing is wrong") {
  const size_t count = number_from("SPARSECOLL_TEST_CASES", test::small_run() ? 100 : 1000);
  const uint64_t first = test::base_seed();
  CHECK(run_cases(count, [first](size_t i) {
          const Schedule schedule(first + i);
          return (first + i) % 3 == 0 ? run<double>(schedule) : run<float>(schedule);
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::fault
