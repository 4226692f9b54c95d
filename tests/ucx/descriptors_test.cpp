// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Inits over UCX in a process that may open few files: an init works, or fails with SystemError
// long before its deadline; nothing stays open; with a higher limit it works.

#include "support/descriptors.hpp"

#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/processes.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

constexpr int kTimeoutMs = 20000;

/// The results and messages of an init, by rank.
struct Outcome {
  std::vector<sparsecollResult_t> results;
  std::vector<std::string> messages;
  bool works() const {
    return results == std::vector<sparsecollResult_t>(results.size(), sparsecollSuccess);
  }
};

/// Makes and ends a communicator of P ranks that are threads.
Outcome live(int P) {
  const auto count = static_cast<std::size_t>(P);
  Outcome outcome{std::vector<sparsecollResult_t>(count), std::vector<std::string>(count)};
  sparsecollUniqueId id{};
  const sparsecollResult_t got = sparsecollGetUniqueId(&id);
  if (got != sparsecollSuccess) {
    outcome.results.assign(count, got);
    outcome.messages.assign(count, sparsecollGetLastError(nullptr));
    return outcome;
  }
  sparsecollConfig_t config = default_config();
  config.timeoutMs = kTimeoutMs;
  run_threads("ranks with few descriptors", P, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    sparsecollComm_t comm = nullptr;
    outcome.results[r] = sparsecollCommInitRank(&comm, P, id, rank, &config);
    outcome.messages[r] = sparsecollGetLastError(nullptr);
    if (comm != nullptr) sparsecollCommDestroy(comm);
    return std::string();
  });
  return outcome;
}

/// Checks an init with so many descriptors; one rank at least has SystemError unless it works.
std::string try_with(int P, int more, bool& works) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  {
    const FewDescriptors few(more);
    outcome = live(P);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  works = outcome.works();
  const std::string with = "with " + std::to_string(more) + " descriptors: ";
  if (took.count() > 5) return with + "it took " + std::to_string(took.count()) + " s";
  bool clear = works;
  std::string all;
  for (std::size_t r = 0; r < outcome.results.size(); ++r) {
    clear = clear || outcome.results[r] == sparsecollSystemError;
    all += std::string(sparsecollGetErrorString(outcome.results[r])) + " [" + outcome.messages[r] +
           "]; ";
  }
  return clear ? "" : with + all;
}

/// Returns how many descriptors more than `before` are open once the rendezvous, which runs in a
/// thread of its own, has noticed who left.
long still_open(long before) {
  long more = 1;
  for (int i = 0; i < 2000 && more > 0; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    more = open_descriptors() - before;
  }
  return more;
}

/// Tries every number of descriptors until an init works.
std::string try_all(int P) {
  constexpr int kMost = 200;
  if (!live(P).works()) return "without a limit no init works";
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const long before = open_descriptors();
  bool works = false;
  int failures = 0;
  for (int more = 0; more < kMost && !works; ++more) {
    const std::string wrong = try_with(P, more, works);
    if (!wrong.empty()) return wrong;
    failures += works ? 0 : 1;
    if (const long open = still_open(before); open > 0)
      return std::to_string(open) + " descriptors stay open after " + std::to_string(more);
    if (more % 8 == 0 && !live(P).works()) return "without the limit it works no more";
  }
  return works && failures > 5 ? "" : "no limit was too low, or all were";
}

TEST_CASE("an init over UCX without descriptors fails clearly and leaks none") {
  for (const int ranks : {1, 2}) {
    const auto body = [ranks](int, const sparsecollUniqueId&) { return try_all(ranks); };
    CHECK(joined(run_processes(1, 300, body)) == "");
  }
}

TEST_CASE("the first init of a process that may open few files can be repeated with more") {
  for (const int more : {0, 1, 2, 3, 5, 8, 13, 21}) {
    const auto body = [more](int rank, const sparsecollUniqueId&) -> std::string {
      if (rank == 0) return "";  // has made the id, and so the rendezvous
      bool works = false;
      const std::string wrong = try_with(1, more, works);
      if (!wrong.empty()) return wrong;
      return live(1).works() ? "" : "with more descriptors it works no more";
    };
    CHECK(joined(run_processes(2, 60, body)) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
