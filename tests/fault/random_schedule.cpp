// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// random_schedule [--seed N] [--cases N] [--case M] [--slack SECONDS]
//
// Random schedules: on 1 to 6 ranks, which are threads, 1 to 4 collective calls of random verbs,
// shapes, types and configurations, blocking and queued, one by one, in groups and on parts, while
// messages are delayed, lost or damaged, ranks die, leave, stay away, are aborted, pass bad
// arguments or call something else, and deadlines are short. Prints what fails with its seed and
// its number; the same --seed with --case runs just that one.
//
// The rules, from the contract:
//  1. Every call ends within its deadline; where nobody has a reason to wait, at once. Beside that
//     it may take --slack, 5 s unless told (15 s with a sanitizer), and 50 times what a thread that
//     only wants to look at the clock had to wait meanwhile: on an idle machine nothing.
//  2. sparsecollSuccess and sparsecollTruncated: the output is the oracle's, bit for bit, and so is
//     the residual. All ranks made the same call: none had failed, left, or done something else.
//  3. A call whose arguments are bad on one rank, or another on one rank, is done on none:
//     sparsecollInvalidArgument there and sparsecollInvalidUsage elsewhere, outputs and residuals
//     as before, and the communicator goes on; or an error of rule 4.
//  4. Any other error is fatal and has a reason: sparsecollTimeout where deadlines are short,
//     sparsecollRemoteError where something went wrong elsewhere, sparsecollSystemError on a rank
//     that died, sparsecollInvalidUsage on one that was aborted. The residuals of the call, all
//     those of a group, are as before or all as after it, so that nothing is lost or doubled.
//     Every later call returns the same error at once and changes nothing.
//     What a rank has ended, before it is aborted or leaves, ends without a fatal error on all.
//  5. Destroying ends in time and succeeds, whatever happened.
//  6. A residual that is saved and loaded is what it was, whatever happened to its communicator;
//     push-sum that goes back to a saved step takes the same steps again.
//  7. Memory is freed: AddressSanitizer's build says so.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/sanitizers.hpp"
#include "fault/cases.hpp"
#include "fault/life.hpp"

namespace sparsecoll::fault {
namespace {

struct Options {
  uint64_t seed = test::base_seed();
  size_t cases = test::small_run() ? 500 : 10000;
  size_t first = 0;
  double slack = unit::kSanitized ? 15 : 5;
};

/// No rank can be done with a call that another one never made; nor can a call fail that nobody
/// failed in.
std::string compare(const Schedule& schedule, const std::vector<Life>& lives) {
  const Life& victim = lives[static_cast<size_t>(schedule.victim())];
  for (const Life& life : lives)
    for (size_t number = 0; schedule.victim_leads() && number < schedule.calls(); ++number)
      if (victim.survived()[number] && number >= life.failed())
        return text("\n  call ", number, " failed on rank ", &life - lives.data(),
                    ", though the rank that failed later had ended it");
  for (const Life& life : lives)
    for (const Life& other : lives)
      for (size_t number = other.entered(); number < life.done().size(); ++number)
        if (life.done()[number])
          return text("\n  call ", number, " is done on one rank, but another made only ",
                      other.entered());
  return "";
}

std::string run_schedule(const std::string& name, const Schedule& schedule,
                         const Surroundings& surroundings) {
  std::atomic<sparsecollComm_t> aborted{nullptr};
  const auto abort = [&aborted] { sparsecollCommAbort(aborted); };
  unit::Communicators ranks(schedule.P(), schedule.config(), schedule.plan(abort));
  aborted = ranks.handle(schedule.victim());
  for (int rank = 0; rank < schedule.P(); ++rank)
    if (schedule.queued()) ranks[rank].start();
  for (const auto& tensor : schedule.tensors()) tensor->create(ranks.handles());
  if (schedule.aborts_first()) abort();
  std::vector<Life> lives;
  for (int rank = 0; rank < schedule.P(); ++rank)
    lives.emplace_back(schedule, ranks, rank, surroundings);
  const std::string verdict =
      ranks.run(name, [&](int rank) { return lives[static_cast<size_t>(rank)].live(); });
  if (!verdict.empty()) return verdict;
  for (size_t number = 0; number < schedule.calls(); ++number) {
    if (schedule.refused(number)) continue;
    const std::string together = schedule.call(number, 0).check_together();
    if (!together.empty()) return text("\n  call ", number, ": ", together);
  }
  return compare(schedule, lives);
}

std::string run_case(const Options& options, const Surroundings& surroundings, size_t number) {
  const std::string name = text("--seed ", options.seed, " --case ", number);
  const Schedule schedule(test::noise(options.seed, number));
  const std::string verdict = run_schedule(name, schedule, surroundings);
  return verdict.empty() ? "" : text(name, ": ", schedule.describe(), verdict);
}

/// False when the arguments are none.
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
  const Pulse pulse;
  const test::Folder folder;
  const Surroundings surroundings{options.slack, pulse, folder};
  const Clock::time_point start = Clock::now();
  const std::string verdict = run_cases(
      options.cases, [&](size_t i) { return run_case(options, surroundings, options.first + i); });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (verdict.empty())
    std::printf("seed %llu: %zu cases in %.1f s, no violation\n",
                static_cast<unsigned long long>(options.seed), options.cases, seconds);
  else
    std::printf("%s\n", verdict.c_str());
  return verdict.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sparsecoll::fault

int main(int argc, char** argv) { return sparsecoll::fault::run(argc, argv); }
