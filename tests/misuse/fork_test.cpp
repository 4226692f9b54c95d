// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// fork(): the child refuses every function on its parent's communicators at once, exits in order,
// and may have communicators of its own; the parent goes on.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "api/sanitizers.hpp"
#include "misuse/push_sum.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

constexpr unsigned kHangSeconds = 60;

/// Runs body in a child, which then exits as a program does. Returns "" if body does.
template <class Body>
std::string in_child(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangSeconds);  // ends a child that hangs
    const std::string verdict = body();
    std::fprintf(stderr, "%s", verdict.c_str());
    std::exit(verdict.empty() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no child";
  if (WIFSIGNALED(status)) return "the child died of signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "the child exited with an error";
}

/// The objects of one rank.
struct Objects {
  Objects(sparsecollComm_t comm)
      : comm(comm), residual(comm, kLength), state(comm, kLength, kUsual) {}
  sparsecollComm_t comm;
  Residual<double> residual;
  PushSum<double> state;
};

/// Calls every function on the objects. Returns "" if all are refused.
std::string use(const Objects& own, const Folder& folder) {
  const std::string file = folder.file("inherited");
  std::vector<double> x(kLength, 1.0);
  double* const at = x.data();
  double weight = 0;
  std::size_t bytes = 0;
  int number = 0;
  std::uint64_t sequence = 0;
  void* pointer = nullptr;
  sparsecollResult_t async = sparsecollSuccess;
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollSparse_t sparse = SPARSECOLL_SPARSE_INITIALIZER;
  sparsecollComm_t child = nullptr;
  sparsecollResidual_t residual = nullptr;
  sparsecollPushSum_t state = nullptr;
  const sparsecollComm_t comm = own.comm;
  const std::pair<const char*, sparsecollResult_t> calls[] = {
      {"CommRank", sparsecollCommRank(comm, &number)},
      {"CommCount", sparsecollCommCount(comm, &number)},
      {"CommGetSequence", sparsecollCommGetSequence(comm, &sequence)},
      {"CommGetAsyncError", sparsecollCommGetAsyncError(comm, &async)},
      {"CommGetStats", sparsecollCommGetStats(comm, sparsecollStatsLast, &stats)},
      {"CommGetFailed", sparsecollCommGetFailed(comm, nullptr, &number)},
      {"CommShrink", sparsecollCommShrink(comm, nullptr, 0, &child, nullptr)},
      {"ResidualMove", sparsecollResidualMove(own.residual.handle(), comm)},
      {"PushSumMove", sparsecollPushSumMove(own.state.handle(), comm)},
      {"CommDump", sparsecollCommDump(comm, file.c_str())},
      {"CommSynchronize", sparsecollCommSynchronize(comm)},
      {"CommWait", sparsecollCommWait(comm, 1)},
      {"CommNotify", sparsecollCommNotify(
                         comm, 1, [](void*, std::uint64_t, sparsecollResult_t) {}, nullptr)},
      {"CommStreamWait", sparsecollCommStreamWait(comm, nullptr)},
      {"CommSplit", sparsecollCommSplit(comm, 0, 0, &child, nullptr)},
      {"GroupStart", sparsecollGroupStart(comm)},
      {"GroupEnd", sparsecollGroupEnd(comm)},
      {"sparseAllreduce", sparseAllreduce(at, at, kLength, 1, sparsecollFloat64, sparsecollSum,
                                          own.residual.handle(), comm, nullptr)},
      {"gtopkAllreduce", gtopkAllreduce(at, at, kLength, 1, sparsecollFloat64, sparsecollSum,
                                        nullptr, comm, nullptr)},
      {"Topk", sparsecollTopk(at, kLength, 1, sparsecollFloat64, nullptr, &sparse, comm, nullptr)},
      {"Scatter", sparsecollScatter(&sparse, at, comm, nullptr)},
      {"ScatterAt", sparsecollScatterAt(&sparse, at, 0, 0, comm, nullptr)},
      {"CommMeasure", sparsecollCommMeasure(comm)},
      {"Fetch", sparsecollFetch(&sparse, nullptr, comm, nullptr)},
      {"pushSumStep",
       pushSumStep(at, nullptr, kLength, sparsecollFloat64, own.state.handle(), comm, nullptr)},
      {"PushSumCreate", sparsecollPushSumCreate(&state, kLength, sparsecollFloat64, nullptr, comm)},
      {"PushSumDrain", sparsecollPushSumDrain(own.state.handle(), at, nullptr, nullptr)},
      {"PushSumWeight", sparsecollPushSumWeight(own.state.handle(), &weight)},
      {"PushSumSave", sparsecollPushSumSave(own.state.handle(), file.c_str())},
      {"PushSumLoad", sparsecollPushSumLoad(own.state.handle(), file.c_str())},
      {"PushSumSaveTo", sparsecollPushSumSaveTo(own.state.handle(), nullptr, &bytes)},
      {"PushSumLoadFrom", sparsecollPushSumLoadFrom(own.state.handle(), at, sizeof *at)},
      {"PushSumDestroy", sparsecollPushSumDestroy(own.state.handle())},
      {"ResidualCreate", sparsecollResidualCreate(&residual, kLength, sparsecollFloat64, comm)},
      {"ResidualRead", sparsecollResidualRead(own.residual.handle(), at)},
      {"ResidualWrite", sparsecollResidualWrite(own.residual.handle(), at)},
      {"ResidualScale", sparsecollResidualScale(own.residual.handle(), 2)},
      {"ResidualPointer", sparsecollResidualPointer(own.residual.handle(), &pointer)},
      {"ResidualSave", sparsecollResidualSave(own.residual.handle(), file.c_str())},
      {"ResidualLoad", sparsecollResidualLoad(own.residual.handle(), file.c_str())},
      {"ResidualSaveTo", sparsecollResidualSaveTo(own.residual.handle(), nullptr, &bytes)},
      {"ResidualLoadFrom", sparsecollResidualLoadFrom(own.residual.handle(), at, sizeof *at)},
      {"ResidualDestroy", sparsecollResidualDestroy(own.residual.handle())},
      {"CommAbort", sparsecollCommAbort(comm)},
      {"CommDestroy", sparsecollCommDestroy(comm)}};
  std::string wrong;
  for (const auto& [name, result] : calls)
    if (result != sparsecollInvalidUsage)
      wrong += std::string(name) + ": " + sparsecollGetErrorString(result) + "; ";
  if (std::string(sparsecollGetLastError(comm)).find("fork") == std::string::npos)
    wrong += std::string("the message is ") + sparsecollGetLastError(comm);
  return wrong;
}

std::string call(sparsecollComm_t comm, std::vector<double>& x) {
  sparsecollResult_t result = sparseAllreduce(x.data(), x.data(), x.size(), 3, sparsecollFloat64,
                                              sparsecollSum, nullptr, comm, nullptr);
  if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
  return result == sparsecollSuccess ? "" : explain(result, comm);
}

/// Sums long vectors on the threads of a communicator of this process.
std::string have_own_communicator(int blocking) {
  sparsecollConfig_t config = default_config();
  config.blocking = blocking;
  const Ranks ranks(1, config);
  std::vector<double> x(std::size_t{1} << 19, 1.0);
  return call(ranks.comm(0), x);
}

TEST_CASE("a child refuses its parent's communicators, and has its own") {
  for (const int blocking : {1, 0}) {
    const Folder folder;
    sparsecollConfig_t config = default_config();
    config.blocking = blocking;
    const Ranks ranks(2, config);
    std::vector<std::unique_ptr<Objects>> objects(2);
    const auto all_call = [&](int rank) {
      auto& own = objects[static_cast<std::size_t>(rank)];
      if (!own) own = std::make_unique<Objects>(ranks.comm(rank));
      std::vector<double> x(std::size_t{1} << 19, 1.0);  // which starts the pool of threads
      return call(ranks.comm(rank), x) + works(own->state, ranks.comm(rank));
    };
    REQUIRE(ranks.run("before", all_call) == "");
    CHECK(in_child([&] { return use(*objects[0], folder) + use(*objects[1], folder); }) == "");
    if (!unit::kSanitized) {  // no sanitizer lets a forked process start threads reliably
      CHECK(in_child([&] {
              return use(*objects[1], folder) + have_own_communicator(blocking) +
                     in_child([&] { return use(*objects[0], folder); });
            }) == "");
    }
    CHECK(ranks.run("after", all_call) == "");
  }
}

TEST_CASE("a child that is forked during a queued call does not wait for it") {
  const Folder folder;
  sparsecollConfig_t config = default_config();
  config.blocking = 0;
  const Ranks ranks(2, config);
  std::vector<std::unique_ptr<Objects>> objects(2);
  REQUIRE(ranks.run("objects", [&](int rank) {
    objects[static_cast<std::size_t>(rank)] = std::make_unique<Objects>(ranks.comm(rank));
    return std::string();
  }) == "");
  std::vector<double> x(kLength, 1.0), y(kLength, 1.0);
  REQUIRE(sparseAllreduce(x.data(), x.data(), kLength, kLength, sparsecollFloat64, sparsecollSum,
                          nullptr, ranks.comm(0), nullptr) == sparsecollSuccess);
  for (int fork = 0; fork < 20; ++fork)
    CHECK(in_child([&] { return use(*objects[0], folder); }) == "");
  REQUIRE(sparseAllreduce(y.data(), y.data(), kLength, kLength, sparsecollFloat64, sparsecollSum,
                          nullptr, ranks.comm(1), nullptr) == sparsecollSuccess);
  for (const int rank : {0, 1})
    CHECK(sparsecollCommSynchronize(ranks.comm(rank)) == sparsecollSuccess);
  CHECK(x == std::vector<double>(kLength, 2.0));
  CHECK(y == x);
}

/// Forks 50 times while another thread repeats body. Each child uses a communicator of its own.
template <class Body>
std::string fork_during(const Body& body) {
  std::atomic<bool> ends{false};
  std::thread busy([&] {
    while (!ends) body();
  });
  std::string wrong;
  for (int fork = 0; fork < 50 && wrong.empty(); ++fork)
    wrong = in_child([] { return have_own_communicator(1); });
  ends = true;
  busy.join();
  return wrong;
}

TEST_CASE("a child of a process whose threads make and end communicators can use its own") {
  if (unit::kSanitized) return;
  CHECK(fork_during([] {
          sparsecollComm_t comm = nullptr;
          sparsecollCommInitAll(&comm, 1, nullptr, nullptr);
          sparsecollCommDestroy(comm);
        }) == "");
}

TEST_CASE("a child of a process whose threads call verbs can use its own communicator") {
  if (unit::kSanitized) return;
  const Ranks ranks(1, default_config());
  std::vector<double> x(8, 1.0);
  CHECK(fork_during([&] {
          sparseAllreduce(x.data(), x.data(), x.size(), 1, sparsecollFloat64, sparsecollSum,
                          nullptr, ranks.comm(0), nullptr);
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
