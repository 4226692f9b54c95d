// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Runs sparsecollCommSplit while a rank fails as fault_rank.hpp says. SCENARIO is kill-at, stop-at
// or abort-at. VERB is a split, a hyphen and a number: the victim dies or stops before its message
// of that number in the split. With abort-at the next rank then aborts the communicator. The splits
// are all (one child, in reverse order), half (even and odd ranks) and none (all but rank 0).
//
// The split must end within its deadline and a second. A child, if there is one, must work or fail,
// but not hang. The communicator that was split must fail, in the split or later, and its destroy
// must end.

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mpi/fault_rank.hpp"
#include "support/typed.hpp"

namespace {

int messages_left = -1;  // -1: nothing happens
std::function<void()> at_message;

}  // namespace

// Replaces MPI's function.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (messages_left >= 0 && messages_left-- == 0) at_message();
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

namespace {

using namespace sparsecoll::test;

const int kStopMs = 2 * kDeadlineMs;
constexpr int kAbortMs = 400;

bool failed(sparsecollResult_t result) {
  return result == sparsecollTimeout || result == sparsecollRemoteError;
}

sparsecollResult_t use(sparsecollComm_t comm) {
  float one = 1, sum = 0;
  return sparseAllreduce(&one, &sum, 1, 1, sparsecollFloat32, sparsecollSum, nullptr, comm,
                         nullptr);
}

/// The meaning of VERB for this rank.
struct SplitCase {
  explicit SplitCase(const FaultCase& fault) {
    const std::string who = fault.verb.substr(0, fault.verb.find('-'));
    const int rank = rank_in(MPI_COMM_WORLD), victim = std::atoi(fault.victims_number.c_str());
    key = -rank;
    if (who == "half") color = rank % 2;
    if (who == "none" && rank == 0) color = SPARSECOLL_SPLIT_NOCOLOR;
    messages = std::atoi(fault.verb.substr(fault.verb.find('-') + 1).c_str());
    // Every rank sends two messages for the agreement of three or four ranks.
    with_victim = who == "all" || (who == "half" && (rank - victim) % 2 == 0) ||
                  (who == "none" && rank > 0 && victim > 0);
    dies_in_child = messages >= 2;
    aborts = fault.scenario == "abort-at" && rank == (victim + 1) % size_of(MPI_COMM_WORLD);
  }
  int color = 0;
  int key = 0;
  int messages = 0;
  bool with_victim = false;
  bool dies_in_child = false;
  bool aborts = false;
};

/// Returns "" if the split, which began with `time`, may end now with this result.
std::string check_split(const FaultCase& fault, const SplitCase& split, sparsecollResult_t result,
                        const Stopwatch& time) {
  std::printf("split: %s after %.3f s; ", sparsecollGetErrorString(result), time.seconds());
  std::string text =
      time.too_long("the split", fault.is_victim ? kStopMs / 1000.0 + 1.0 : kEndsAfter);
  if (!text.empty()) return text;
  if (fault.scenario == "abort-at" && !fault.is_victim) {
    text = time.too_long("the abort", kAbortMs / 1000.0 + 1.0);
    if (!text.empty()) return text;
    const auto want = split.aborts ? sparsecollInvalidUsage : sparsecollRemoteError;
    return result == want ? "" : "not the end of an abort";
  }
  if (result != sparsecollSuccess && !failed(result)) return "another error";
  if (split.dies_in_child && !split.with_victim && result != sparsecollSuccess)
    return "a child without the victim";
  return "";
}

std::string check_child(const SplitCase& split, sparsecollComm_t child) {
  if (child == nullptr) return "";
  const Stopwatch call_time;
  const sparsecollResult_t used = use(child);
  std::string text = call_time.too_long("a call in the child", kEndsAfter);
  if (!text.empty()) return text;
  const bool must_work = split.dies_in_child && !split.with_victim;
  if (used != sparsecollSuccess && (must_work || !failed(used))) return explain(used, child);
  const Stopwatch end_time;
  const sparsecollResult_t ended = sparsecollCommDestroy(child);
  text = end_time.too_long("the child's end", kEndsAfter);
  if (!text.empty()) return text;
  if (ended == sparsecollSuccess || (failed(ended) && !must_work)) return "";
  return std::string("the child's end: ") + sparsecollGetErrorString(ended);
}

std::string run(sparsecollComm_t comm, const FaultCase& fault, const Waker& waker) {
  const SplitCase split(fault);
  const sparsecollResult_t first = use(comm);
  if (first != sparsecollSuccess) return "the first call: " + explain(first, comm);
  MPI_Barrier(MPI_COMM_WORLD);
  if (fault.is_victim) {
    at_message = [&] {
      if (fault.scenario == "kill-at") raise(SIGKILL);
      waker.stop_for(kStopMs);
    };
    messages_left = split.messages;
  }
  std::thread aborter([&] {
    if (!split.aborts) return;
    std::this_thread::sleep_for(milliseconds(kAbortMs));
    sparsecollCommAbort(comm);
  });
  sparsecollComm_t child = nullptr;
  const Stopwatch time;
  sparsecollResult_t result = sparsecollCommSplit(comm, split.color, split.key, &child, nullptr);
  std::string text = check_split(fault, split, result, time);
  aborter.join();
  if (text.empty()) text = check_child(split, child);
  if (!text.empty()) return text;
  if (result != sparsecollSuccess)
    return check_poisoned(
        comm, [&] { return sparsecollCommSplit(comm, split.color, split.key, &child, nullptr); },
        result);
  const Stopwatch next_time;
  result = use(comm);
  text = next_time.too_long("the next call", kEndsAfter);
  if (!text.empty()) return text;
  if (!failed(result)) return "no call failed: " + explain(result, comm);
  return check_poisoned(
      comm, [&] { return use(comm); }, result);
}

}  // namespace

int main(int argc, char** argv) {
  return run_rank(argc, argv, [](const FaultCase& fault, const Waker& waker) {
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.timeoutMs = kDeadlineMs;
    sparsecollComm_t comm = nullptr;
    const sparsecollResult_t made = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
    return made == sparsecollSuccess ? run(comm, fault, waker) : explain(made, nullptr);
  });
}
