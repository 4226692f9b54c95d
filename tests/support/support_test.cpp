// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the tests' own tools find errors.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/config.hpp"
#include "support/data.hpp"
#include "support/hang_guard.hpp"
#include "support/longer_deadlines.hpp"
#include "support/rank_threads.hpp"
#include "support/ranks.hpp"
#include "support/sparse_data.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

/// Runs `body` in a child process. Returns what it writes to stderr, and its exit status.
template <class Body>
int run_in_child(const Body& body, std::string& text) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    body();
    _exit(0);
  }
  close(ends[1]);
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

/// Checks that hang(limit), in which ranks 0 and 2 of three stay longer than the limit, ends its
/// process and names them. On a busy machine a limit may pass before rank 1 has left, which is then
/// named, too; so longer ones are tried.
template <class Hang>
void check_hang_is_named(const std::string& what, const Hang& hang) {
  std::string text;
  for (int limit_ms = 50; limit_ms <= 12800 && text.find("inside: 0 2\n") == std::string::npos;
       limit_ms *= 4) {
    text.clear();
    const int status = run_in_child([&] { hang(std::chrono::milliseconds(limit_ms)); }, text);
    CHECK(WIFSIGNALED(status));
    CHECK(text.find(what) != std::string::npos);
  }
  CHECK(text.find("still inside: 0 2\n") != std::string::npos);
}

TEST_CASE("the hang guard names the ranks that stay and ends the process") {
  check_hang_is_named("a test of itself", [](std::chrono::milliseconds limit) {
    HangGuard guard("a test of itself", 3, limit);
    guard.leave(1);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  });
}

TEST_CASE("the hang guard does nothing when its scope ends in time") {
  std::string text;
  const int status =
      run_in_child([] { HangGuard guard("quick", 1, std::chrono::seconds(60)); }, text);
  CHECK(WIFEXITED(status));
  CHECK(text.empty());
}

TEST_CASE("only verdicts about time are tried again, with longer deadlines, and not for ever") {
  const auto deadlines_until = [](int enough, const std::string& wrong) {
    std::vector<int> tried;
    const std::string last = with_longer_deadlines(5, [&](int ms) {
      tried.push_back(ms);
      return ms >= enough ? "" : wrong;
    });
    CHECK(last == (tried.back() >= enough ? "" : wrong));
    return tried;
  };
  CHECK(deadlines_until(0, "the deadline passed") == std::vector<int>{5});
  CHECK(deadlines_until(6, "the deadline passed") == std::vector<int>{5, 20});
  CHECK(deadlines_until(1000, "it came late") == std::vector<int>{5, 20, 80, 320});
  CHECK(deadlines_until(6, "a wrong sum") == std::vector<int>{5});
  CHECK(deadlines_until(6, "a later call: a wrong sum") == std::vector<int>{5});
  CHECK(with_longer_deadlines(5, [](int ms) -> std::string {
          return ms < 20 ? throw std::runtime_error("no init by the deadline") : "";
        }) == "");
  CHECK(with_longer_deadlines(5, [](int ms) -> std::string {
          return ms < 20 ? throw std::runtime_error("broken") : "";
        }) == "exception: broken");
}

TEST_CASE("what is wrong is said before what is late") {
  CHECK(wrong_or_late("", 0.9, 1) == "");
  CHECK(says_late(wrong_or_late("", 1.1, 1)));
  CHECK(wrong_or_late("a wrong sum", 1.1, 1) == "a wrong sum");
}

TEST_CASE("what is late is tried three more times, what is wrong is not") {
  const auto attempts_until = [](int good, const std::string& wrong) {
    int attempts = 0;
    const std::string last =
        unless_late_by_chance([&] { return ++attempts >= good ? std::string() : wrong; });
    CHECK(last == (attempts >= good ? "" : wrong));
    return attempts;
  };
  CHECK(attempts_until(1, "late") == 1);
  CHECK(attempts_until(4, "late: after 2 s") == 4);
  CHECK(attempts_until(5, "late: after 2 s") == 4);
  CHECK(attempts_until(2, "too late") == 2);
  CHECK(attempts_until(2, "latency, later: late") == 2);
  CHECK(attempts_until(2, "a wrong sum") == 1);
  CHECK(attempts_until(2, "later, related") == 1);
  CHECK(unless_late_by_chance([]() -> std::string { throw std::runtime_error("broken"); }) ==
        "exception: broken");
}

TEST_CASE("verdicts and exceptions of threads arrive with their rank") {
  CHECK(run_threads("good", 3, [](int) { return ""; }) == "");
  const std::string all = run_threads("bad", 3, [](int rank) -> std::string {
    if (rank == 1) throw std::runtime_error("thrown");
    return rank == 2 ? "wrong" : "";
  });
  CHECK(all.find("rank 1: exception: thrown") != std::string::npos);
  CHECK(all.find("rank 2: wrong") != std::string::npos);
  CHECK(all.find("rank 0") == std::string::npos);
}

TEST_CASE("threads of ranks run one function after another and return only its verdicts") {
  RankThreads threads(3);
  std::vector<std::thread::id> first(3), second(3);
  CHECK(threads.run("first", [&](int rank) -> std::string {
    first[static_cast<std::size_t>(rank)] = std::this_thread::get_id();
    return rank == 1 ? "wrong" : "";
  }) == "\n  first\n    rank 1: wrong");
  CHECK(threads.run("second", [&](int rank) {
    second[static_cast<std::size_t>(rank)] = std::this_thread::get_id();
    return "";
  }) == "");
  CHECK(first == second);
  CHECK(std::set<std::thread::id>(first.begin(), first.end()).size() == 3);
  const std::string nested = threads.run("outer", [&](int rank) -> std::string {
    return rank == 0 ? threads.run("inner", [](int) { return ""; }) : "";
  });
  CHECK(nested.find("rank 0: exception: RankThreads: a run in a run") != std::string::npos);
  CHECK(RankThreads(0).run("nobody", [](int) { return "never"; }) == "");
}

TEST_CASE("a run that hangs ends the process and names the ranks inside") {
  check_hang_is_named("stuck", [](std::chrono::milliseconds limit) {
    RankThreads(3, limit).run("stuck", [](int rank) {
      if (rank != 1) std::this_thread::sleep_for(std::chrono::seconds(60));
      return "";
    });
  });
}

TEST_CASE("comparison is by bits") {
  using V = std::vector<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(difference("x", V{1, nan}, V{1, nan}) == "");
  CHECK(difference("x", V{0.0f}, V{-0.0f}) != "");
  CHECK(difference("x", V{nan}, V{-nan}) != "");
  CHECK(difference("x", V{1}, V{1, 2}) != "");
  CHECK(difference("x", V{1, 2, 3}, V{1, 5, 4}).find("x[1]") == 0);
  using S = oracle::Sparse<float>;
  CHECK(difference("x", S{{1, 2}}, S{{1, 2}}) == "");
  CHECK(difference("x", S{{1, 2}}, S{{2, 2}}) != "");
  CHECK(difference("x", S{{1, 0.0f}}, S{{1, -0.0f}}) != "");
  CHECK(difference("x", S{{1, 2}}, S{{1, 2}, {3, 4}}) != "");
}

TEST_CASE("data are reproducible, differ between ranks, and are what they say") {
  CHECK(difference("x", make_data<float>(Kind::kHeavyTail, 99, 1, 4, 5),
                   make_data<float>(Kind::kHeavyTail, 99, 1, 4, 5)) == "");
  CHECK(difference("x", make_data<float>(Kind::kHeavyTail, 99, 1, 4, 5),
                   make_data<float>(Kind::kHeavyTail, 99, 2, 4, 5)) != "");
  for (const Kind kind : kIntegerKinds) {
    for (const float value : make_data<float>(kind, 500, 2, 3, 9)) {
      CHECK(value == static_cast<float>(static_cast<int>(value)));
    }
  }
  const auto halves = make_data_of_all<float>(Kind::kCancelling, 1000, 2, 1);
  int cancelled = 0;
  for (std::size_t i = 0; i < 1000; ++i) cancelled += halves[0][i] + halves[1][i] == 0 ? 1 : 0;
  CHECK(cancelled > 500);
  int odd = 0;
  for (const float value : make_data<float>(Kind::kNotFinite, 1000, 1, 2, 1)) {
    odd += value - value == 0 ? 0 : 1;
  }
  CHECK(odd > 100);
}

TEST_CASE("sparse data have rising indices within their count") {
  for (const SparseKind kind : kAllSparseKinds) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
      for (const auto& entries : make_sparse_of_all<double>(kind, count, 3, 11)) {
        for (std::size_t at = 0; at < entries.size(); ++at) {
          CHECK(entries[at].index < count);
          if (at > 0) CHECK(entries[at - 1].index < entries[at].index);
        }
      }
    }
  }
}

TEST_CASE("a program takes all cases in exactly one part of three") {
  const Variable small("SPARSECOLL_TEST_SMALL", "0");
  int full = 0;
  for (const char* const part : {"0/3", "1/3", "2/3"}) {
    const Variable chosen("SPARSECOLL_TEST_FULL_PART", part);
    full += small_run() ? 0 : 1;
  }
  CHECK(full == 1);
  for (const char* const every : {"0/1", "", "1"}) {
    const Variable chosen("SPARSECOLL_TEST_FULL_PART", every);
    CHECK(!small_run());
  }
  const Variable asked("SPARSECOLL_TEST_SMALL", "1"), chosen("SPARSECOLL_TEST_FULL_PART", "0/1");
  CHECK(small_run());
}

}  // namespace
}  // namespace sparsecoll::test
