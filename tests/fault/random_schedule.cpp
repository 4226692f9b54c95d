// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// random_schedule [--seed N] [--cases N] [--case M] [--slack SECONDS]
//
// Makes random collective calls and checks every result. Each case has 1 to 6 ranks, which are
// threads, and 1 to 4 calls of random verbs, shapes, types and configurations: blocking and queued,
// alone, in groups and on communicators of a split. Meanwhile messages are delayed, lost or
// damaged; ranks fail, destroy their communicators early, make fewer calls, are aborted, pass bad
// arguments or make different calls; deadlines are short. Prints the seed and number of the first
// case that fails. --seed with --case runs that case alone.
//
// The rules that it checks:
//  1. Every call ends before its deadline. If no rank has a reason to wait, it ends at once. The
//     time allowed beyond that is --slack (default: 5 s, with a sanitizer 15 s) plus 50 times the
//     longest scheduling delay of a thread meanwhile, which is 0 on an idle machine.
//  2. After sparsecollSuccess and sparsecollTruncated, output and residual equal those of the
//     oracle, bit for bit. All ranks made the same call, and none had failed before.
//  3. If one rank passes a bad argument or makes a different call, the call completes on no rank.
//     It returns sparsecollInvalidArgument on a rank with a bad argument and sparsecollInvalidUsage
//     on the others. Outputs and residuals do not change, and the communicator stays usable. An
//     error by rule 4 may occur instead.
//  4. Any other error is fatal and has a cause: sparsecollTimeout a short deadline,
//     sparsecollRemoteError a failure of another rank, sparsecollSystemError a failure of this
//     rank, sparsecollInvalidUsage an abort of this rank. The residuals of the call, or all those
//     of a group, are as before or all as after it, so that nothing is lost or doubled. Every later
//     call returns the same error at once and changes nothing. A call that completed on a rank
//     before this rank was aborted or left completes on all ranks.
//  5. Destroying a communicator ends in time and succeeds, whatever happened before.
//  6. Saving and loading a residual does not change it, whatever happened to its communicator.
//     Push-sum that loads a saved state repeats its steps exactly.
//  7. All memory is freed. The build with AddressSanitizer checks this.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/sanitizers.hpp"
#include "fault/cases.hpp"
#include "fault/schedule_runner.hpp"

namespace sparsecoll::fault {
namespace {

struct Options {
  uint64_t seed = test::base_seed();
  size_t cases = test::small_run() ? 500 : 10000;
  size_t first = 0;
  double slack = unit::kSanitized ? 15 : 5;
};

/// Compares the results of all ranks. No call completes on one rank if another rank never made it.
/// No call fails that the victim completed before it failed.
std::string compare(const Schedule& schedule, const std::vector<ScheduleRunner>& runners) {
  const ScheduleRunner& victim = runners[static_cast<size_t>(schedule.victim())];
  for (const ScheduleRunner& runner : runners)
    for (size_t number = 0; schedule.all_complete_with_victim() && number < schedule.calls();
         ++number)
      if (victim.ended_soundly()[number] && number >= runner.first_failed_call())
        return text("\n  call ", number, " failed on rank ", &runner - runners.data(),
                    ", though it succeeded on the rank that failed later");
  for (const ScheduleRunner& runner : runners)
    for (const ScheduleRunner& other : runners)
      for (size_t number = other.started_calls(); number < runner.done().size(); ++number)
        if (runner.done()[number])
          return text("\n  call ", number, " succeeded on one rank, but another made only ",
                      other.started_calls());
  return "";
}

std::string run_schedule(const std::string& name, const Schedule& schedule,
                         const RunEnvironment& environment) {
  std::atomic<sparsecollComm_t> aborted{nullptr};
  const auto abort = [&aborted] { sparsecollCommAbort(aborted); };
  unit::Communicators ranks(schedule.P(), schedule.config(), schedule.plan(abort));
  aborted = ranks.handle(schedule.victim());
  for (int rank = 0; rank < schedule.P(); ++rank)
    if (schedule.queued()) ranks[rank].start();
  for (const auto& tensor : schedule.tensors()) tensor->create(ranks.handles());
  if (schedule.aborts_first()) abort();
  std::vector<ScheduleRunner> runners;
  for (int rank = 0; rank < schedule.P(); ++rank)
    runners.emplace_back(schedule, ranks, rank, environment);
  const std::string verdict =
      ranks.run(name, [&](int rank) { return runners[static_cast<size_t>(rank)].run(); });
  if (!verdict.empty()) return verdict;
  for (size_t number = 0; number < schedule.calls(); ++number) {
    if (schedule.refused(number)) continue;
    const std::string together = schedule.call(number, 0).check_all_ranks();
    if (!together.empty()) return text("\n  call ", number, ": ", together);
  }
  return compare(schedule, runners);
}

/// The calls of all cases, and of those with a fault, a short deadline, or an argument that
/// differs.
struct Counts {
  std::atomic<size_t> calls{0}, faulty{0};

  void add(const Schedule& schedule) {
    bool faulty = schedule.fault_kind() != FaultKind::kNone || schedule.has_short_deadline();
    for (size_t number = 0; number < schedule.calls(); ++number)
      faulty = faulty || schedule.refused(number);
    calls += schedule.calls();
    if (faulty) this->faulty += schedule.calls();
  }
};

std::string run_case(const Options& options, const RunEnvironment& environment, size_t number,
                     Counts& counts) {
  const std::string name = text("--seed ", options.seed, " --case ", number);
  const Schedule schedule(test::noise(options.seed, number));
  counts.add(schedule);
  const std::string verdict = run_schedule(name, schedule, environment);
  return verdict.empty() ? "" : text(name, ": ", schedule.describe(), verdict);
}

/// Parses the command line. Returns false if it is not valid.
bool parse(int argc, char** argv, Options& options) {
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string name = argv[at];
    const uint64_t value = std::strtoull(argv[at + 1], nullptr, 10);
    if (name == "--seed")
      options.seed = value;
    else if (name == "--cases")
      options.cases = value;
    else if (name == "--case")
      options.first = value, options.cases = 1;
    else if (name == "--slack")
      options.slack = static_cast<double>(value);
    else
      return false;
  }
  return argc % 2 == 1;
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: random_schedule [--seed N] [--cases N] [--case M] [--slack SECONDS]\n");
    return 2;
  }
  const SchedulingDelays delays;
  const test::Folder folder;
  LongestTime over;
  const RunEnvironment environment{options.slack, delays, folder, over};
  Counts counts;
  const Clock::time_point start = Clock::now();
  const std::string verdict = run_cases(options.cases, [&](size_t i) {
    return run_case(options, environment, options.first + i, counts);
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (verdict.empty())
    std::printf(
        "seed %llu: %zu cases, %zu calls, %zu with a fault, in %.1f s, no violation; "
        "at most %.1f ms beyond a deadline\n",
        static_cast<unsigned long long>(options.seed), options.cases, counts.calls.load(),
        counts.faulty.load(), seconds, 1e3 * over.seconds());
  else
    std::printf("%s\n", verdict.c_str());
  return verdict.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sparsecoll::fault

int main(int argc, char** argv) { return sparsecoll::fault::run(argc, argv); }
