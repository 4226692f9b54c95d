// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks fail, and the others go on with sparsecollCommShrink: at every message of a call, and at
// every message of the shrink itself. All ranks that remain get the same outcome, and the new
// communicator gives the sums of its ranks and nothing of the old one's messages.

#include <atomic>
#include <barrier>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>

#include "api/communicators.hpp"
#include "fault/cases.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/typed.hpp"

namespace sparsecoll::fault {
namespace {

using unit::Communicators;

constexpr int kTimeoutMs = 400;    ///< at first, where ranks wait for one that failed
constexpr int kPatientMs = 60000;  ///< where no rank waits for the deadline
constexpr size_t kLength = 40;

sparsecollConfig_t with_deadline(const test::Mode& mode, int timeout_ms) {
  sparsecollConfig_t config = test::config_of(mode);
  config.timeoutMs = timeout_ms;
  return config;
}

/// Adds vectors of which rank r has the value 2^r everywhere. Returns the sum, or 0 after an error,
/// whose code is in `result`.
int sum_over(sparsecollComm_t comm, const test::Mode& mode, int rank, sparsecollResult_t& result) {
  std::vector<float> x(kLength, static_cast<float>(1 << rank)), y(kLength);
  result = test::call_dense_verb<float>(mode.verb, {x.data(), y.data(), kLength, kLength}, comm);
  if (result != sparsecollSuccess) return 0;
  for (const float each : y)
    if (each != y[0]) return -1;
  return static_cast<int>(y[0]);
}

int bits_of(int P) { return (1 << P) - 1; }

uint64_t sequence_of(sparsecollComm_t comm) {
  uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

std::vector<int> failed_of(sparsecollComm_t comm) {
  int ranks[64] = {}, count = 64;
  if (sparsecollCommGetFailed(comm, ranks, &count) != sparsecollSuccess) return {-1};
  return {ranks, ranks + count};
}

/// The reports of the ranks after they went on; they must agree.
class Agreement {
 public:
  /// Returns "" if `value` is that of all ranks that have called it with this name.
  std::string same(const std::string& name, const std::string& value) {
    const std::lock_guard lock(mutex_);
    const auto [first, fresh] = values_.try_emplace(name, value);
    return fresh || first->second == value
               ? ""
               : name + " differs: " + value + " and " + first->second + "; ";
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

/// Checks the new communicator of the ranks in `members`, a set of bits. Destroys it.
std::string check_shrunk(sparsecollComm_t comm, const test::Mode& mode, int rank, int members,
                         Agreement& agreement) {
  std::string wrong;
  int place = 0, size = 0, P = 0, expected = 0;
  sparsecollCommRank(comm, &place);
  sparsecollCommCount(comm, &size);
  for (int r = 0; r < 30; ++r) {
    if (!(members >> r & 1)) continue;
    if (r < rank) ++expected;
    ++P;
  }
  if (size != P || place != expected) wrong += text("rank ", place, " of ", size, "; ");
  const uint64_t before = sequence_of(comm);
  wrong += agreement.same("sequence", std::to_string(before));
  for (uint64_t call = 1; call <= 3 && wrong.empty(); ++call) {
    sparsecollResult_t result;
    const int sum = sum_over(comm, mode, rank, result);
    if (sum != members) wrong += text("sum ", sum, ": ", test::explain(result, comm));
    if (sequence_of(comm) != before + call) wrong += "the sequence does not go on; ";
  }
  const sparsecollResult_t end = sparsecollCommDestroy(comm);
  if (end != sparsecollSuccess) wrong += "destroy: " + test::explain(end, nullptr);
  return wrong;
}

struct Case {
  test::Mode mode;
  int P;
  int victim;
  size_t message;  ///< at which the victim fails
};

std::string describe(const Case& c) {
  return text(c.mode.name, ", P ", c.P, ", rank ", c.victim, " fails at message ", c.message);
}

FaultPlan kill(int victim, size_t message) {
  return [=](int sender, int, size_t number) {
    MessageFault fault;
    fault.kill_sender = sender == victim && number == message;
    return fault;
  };
}

/// Calls until a call fails, then shrinks without the victim.
std::string go_on(const Case& c, Communicators& ranks, int rank, Agreement& agreement) {
  const sparsecollComm_t comm = ranks.handle(rank);
  sparsecollResult_t result = sparsecollSuccess;
  for (int call = 0; result == sparsecollSuccess; ++call) {
    const int sum = sum_over(comm, c.mode, rank, result);
    if (result == sparsecollSuccess && (sum != bits_of(c.P) || call > 40))
      return text("sum ", sum, " in call ", call);
  }
  if (rank == c.victim) return "";
  const uint64_t last = sequence_of(comm);
  sparsecollComm_t shrunk = nullptr;
  result = sparsecollCommShrink(comm, &c.victim, 1, &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + test::explain(result, comm);
  const uint64_t committed = sequence_of(shrunk);
  if (committed + 1 != last && committed + 2 != last)
    return text("committed ", committed, " of ", last);
  return check_shrunk(shrunk, c.mode, rank, bits_of(c.P) & ~(1 << c.victim), agreement);
}

std::string check(const Case& c, int timeout_ms) {
  Communicators ranks(c.P, with_deadline(c.mode, timeout_ms), kill(c.victim, c.message));
  Agreement agreement;
  return ranks.run(describe(c), [&](int rank) { return go_on(c, ranks, rank, agreement); });
}

TEST_CASE("ranks go on without one that failed at any message of their calls") {
  std::vector<Case> cases;
  for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kGtopk, test::kDense})
    for (const int P : {2, 3, 5})
      for (const int victim : {0, P - 1})
        for (size_t message = 0; message < (test::small_run() ? 8 : 24); ++message)
          cases.push_back({mode, P, victim, message});
  CHECK(run_cases(cases.size(), [&](size_t i) {
          return test::with_longer_deadlines(kTimeoutMs,
                                             [&](int ms) { return check(cases[i], ms); });
        }) == "");
}

/// Shrinks with lists of those that failed, until it works and all ranks of the new communicator
/// are there.
std::string shrink_until_it_works(Communicators& ranks, int rank, int second,
                                  Agreement& agreement) {
  sparsecollComm_t comm = ranks.handle(rank);
  std::vector<int> without{0};
  for (int attempt = 0; attempt < 4; ++attempt) {
    sparsecollComm_t shrunk = nullptr;
    const auto count = static_cast<int>(without.size());
    const sparsecollResult_t result =
        sparsecollCommShrink(comm, without.data(), count, &shrunk, nullptr);
    const std::string outcome = text("attempt ", attempt);
    if (rank == second && result != sparsecollSuccess) return "";  // it has failed itself
    const std::string wrong = agreement.same(outcome, result == sparsecollSuccess ? "good" : "bad");
    if (!wrong.empty() && rank != second) return wrong + test::explain(result, comm);
    if (result != sparsecollSuccess) {
      without = {0, second};
      continue;
    }
    sparsecollResult_t first;
    const int sum = sum_over(shrunk, test::kAllgather, rank, first);
    const int all = bits_of(ranks.size()) & ~1;
    if (without.size() == 2) {
      if (sum != (all & ~(1 << second)))
        return text("sum ", sum, ": ", test::explain(first, shrunk));
    } else if (sum != all && first == sparsecollSuccess) {
      return text("sum ", sum);
    }
    sparsecollCommDestroy(shrunk);
    return "";
  }
  return "no shrink worked";
}

TEST_CASE("a rank that fails at any message of a shrink is an error on all or on none") {
  constexpr int P = 5, kSecond = 3;
  const auto run_within = [&](size_t message, int timeout_ms) {
    Communicators ranks(make_local_transports(P, kill(0, 0), kill(kSecond, message)),
                        with_deadline(test::kAllgather, timeout_ms));
    Agreement agreement;
    return ranks.run(text("message ", message), [&](int rank) -> std::string {
      sparsecollResult_t result;
      sum_over(ranks.handle(rank), test::kAllgather, rank, result);
      if (result == sparsecollSuccess) return "no failure";
      return rank == 0 ? "" : shrink_until_it_works(ranks, rank, kSecond, agreement);
    });
  };
  // 3 messages each for the addresses, the results, and that all is done.
  CHECK(run_cases(10, [&](size_t message) {
          return test::with_longer_deadlines(kTimeoutMs,
                                             [&](int ms) { return run_within(message, ms); });
        }) == "");
}

std::string shrink_without_a_list(int timeout_ms) {
  constexpr int P = 4, kMissing = 1;
  Communicators ranks(P, with_deadline(test::kOktopk, timeout_ms), kill(kMissing, 0));
  Agreement agreement;
  std::atomic<int> done{0};
  return ranks.run("without a list", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollResult_t result;
    sum_over(comm, test::kOktopk, rank, result);
    if (rank == kMissing) {
      while (done < P - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return "";
    }
    std::string wrong;
    if (!failed_of(comm).empty()) wrong += "a rank is known to be gone too early; ";
    sparsecollComm_t shrunk = nullptr;
    const auto start = Clock::now();
    result = sparsecollCommShrink(comm, nullptr, 0, &shrunk, nullptr);
    const std::chrono::duration<double> took = Clock::now() - start;
    const std::string message = sparsecollGetLastError(comm);
    if (result != sparsecollTimeout || message.find("rank 1") == std::string::npos)
      wrong += text(result, ": ", message, "; ");
    if (took.count() > timeout_ms / 1000.0 + test::patience()) wrong += "late; ";
    if (failed_of(comm) != std::vector<int>{kMissing}) wrong += "it is not known to be gone; ";
    result = sparsecollCommShrink(comm, nullptr, 0, &shrunk, nullptr);
    if (result != sparsecollSuccess) wrong += test::explain(result, comm);
    if (wrong.empty()) wrong = check_shrunk(shrunk, test::kOktopk, rank, 0b1101, agreement);
    ++done;
    return wrong;
  });
}

TEST_CASE("a rank that does not come is known to be gone afterwards") {
  CHECK(test::with_longer_deadlines(kTimeoutMs, shrink_without_a_list) == "");
}

TEST_CASE("a rank that has destroyed its communicator is known to be gone at once") {
  Communicators ranks(3, with_deadline(test::kAllgather, kPatientMs));
  REQUIRE(ranks.destroy(2) == sparsecollSuccess);
  Agreement agreement;
  CHECK(ranks.run("a rank that left", [&](int rank) -> std::string {
    if (rank == 2) return "";
    const sparsecollComm_t comm = ranks.handle(rank);
    if (failed_of(comm) != std::vector<int>{2}) return "rank 2 is not known to be gone";
    int count = 0;
    sparsecollCommGetFailed(comm, nullptr, &count);
    if (count != 1) return "the count without numbers is wrong";
    sparsecollComm_t shrunk = nullptr;
    const sparsecollResult_t result = sparsecollCommShrink(comm, nullptr, 0, &shrunk, nullptr);
    if (result != sparsecollSuccess) return test::explain(result, comm);
    return check_shrunk(shrunk, test::kAllgather, rank, 0b011, agreement);
  }) == "");
}

TEST_CASE("a healthy communicator stays as it is, and a shrunk one can be shrunk") {
  Communicators ranks(4, with_deadline(test::kOktopk, kPatientMs));
  Agreement agreement;
  std::atomic<int> done{0};
  CHECK(ranks.run("healthy", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollResult_t result = sparsecollSuccess;
    if (rank != 0) {  // excluded, but alive
      const int first[] = {0};
      sparsecollComm_t three = nullptr, two = nullptr;
      result = sparsecollCommShrink(comm, first, 1, &three, nullptr);
      if (result != sparsecollSuccess) return test::explain(result, comm);
      if (rank != 3) {
        const int last = 2;
        result = sparsecollCommShrink(three, &last, 1, &two, nullptr);
        if (result != sparsecollSuccess) return test::explain(result, three);
        const std::string wrong = check_shrunk(two, test::kOktopk, rank, 0b0110, agreement);
        if (!wrong.empty()) return wrong;
      }
      ++done;
      while (done < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::string wrong = check_shrunk(three, test::kOktopk, rank, 0b1110, agreement);
      if (!wrong.empty()) return wrong;
    }
    while (done < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int sum = sum_over(comm, test::kOktopk, rank, result);
    return sum == 0b1111 ? "" : text("the old one: ", sum, " ", test::explain(result, comm));
  }) == "");
}

/// All ranks of three but the last shrink with arguments of their own.
struct Attempt {
  std::vector<int> list;
  sparsecollResult_t expected;
};

std::string make_attempts(const std::string& name, const std::vector<Attempt>& attempts) {
  Communicators ranks(static_cast<int>(attempts.size()),
                      with_deadline(test::kAllgather, kPatientMs));
  return ranks.run(name, [&](int rank) -> std::string {
    const Attempt& own = attempts[static_cast<size_t>(rank)];
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t shrunk = nullptr;
    const auto count = static_cast<int>(own.list.size());
    const auto start = Clock::now();
    const int none = 0;
    sparsecollResult_t result =
        sparsecollCommShrink(comm, count ? own.list.data() : &none, count, &shrunk, nullptr);
    const std::chrono::duration<double> took = Clock::now() - start;
    if (result != own.expected) return text(result, ": ", test::explain(result, comm));
    if (took.count() > 0.2 + test::patience()) return "late";
    // The next one is good.
    result = sparsecollCommShrink(comm, &none, 0, &shrunk, nullptr);
    if (result != sparsecollSuccess) return "then " + test::explain(result, comm);
    const int sum = sum_over(shrunk, test::kAllgather, rank, result);
    sparsecollCommDestroy(shrunk);
    return sum == bits_of(ranks.size()) ? "" : test::explain(result, shrunk);
  });
}

void check_attempts(const std::string& name, const std::vector<Attempt>& attempts) {
  CHECK(test::unless_late_by_chance([&] { return make_attempts(name, attempts); }) == "");
}

TEST_CASE("different lists and bad arguments are errors on all ranks") {
  constexpr auto kUsage = sparsecollInvalidUsage;
  check_attempts("one list is longer", {{{2}, kUsage}, {{}, kUsage}, {{}, kUsage}});
  check_attempts("each excludes the next", {{{1}, kUsage}, {{2}, kUsage}, {{0}, kUsage}});
  check_attempts("itself", {{{0}, sparsecollInvalidArgument}, {{}, kUsage}, {{}, kUsage}});
  check_attempts("nobody", {{{7}, sparsecollInvalidArgument}, {{}, kUsage}, {{}, kUsage}});
}

TEST_CASE("local errors of a shrink") {
  Communicators ranks(1, with_deadline(test::kAllgather, kPatientMs));
  const sparsecollComm_t comm = ranks.handle(0);
  sparsecollComm_t shrunk = nullptr;
  int count = 0;
  CHECK(sparsecollCommShrink(nullptr, nullptr, 0, &shrunk, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommShrink(comm, nullptr, 0, nullptr, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommShrink(comm, nullptr, 1, &shrunk, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommShrink(comm, &count, -1, &shrunk, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetFailed(nullptr, nullptr, &count) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetFailed(comm, nullptr, nullptr) == sparsecollInvalidArgument);
  REQUIRE(sparsecollCommShrink(comm, nullptr, 0, &shrunk, nullptr) == sparsecollSuccess);
  CHECK(sparsecollCommDestroy(shrunk) == sparsecollSuccess);
}

std::string abort_a_shrink() {
  Communicators ranks(2, with_deadline(test::kAllgather, kPatientMs));
  sparsecollConfig_t config = with_deadline(test::kAllgather, kPatientMs);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sparsecollCommAbort(ranks.handle(0));
  });
  sparsecollComm_t shrunk = nullptr;
  const int none = 0;
  const auto start = Clock::now();
  const sparsecollResult_t result =
      sparsecollCommShrink(ranks.handle(0), &none, 0, &shrunk, &config);
  const std::chrono::duration<double> took = Clock::now() - start;
  const std::string wrong = test::expect("shrink", result, sparsecollInvalidUsage, ranks.handle(0));
  aborter.join();
  return test::wrong_or_late(wrong, took.count(), 0.2 + test::patience());
}

TEST_CASE("an abort ends a shrink on this rank at once") {
  CHECK(test::unless_late_by_chance(abort_a_shrink) == "");
}

TEST_CASE("after an abort of a shrink all ranks can shrink") {
  Communicators ranks(3, with_deadline(test::kAllgather, kPatientMs));
  Agreement agreement;
  std::barrier<> together(3);
  CHECK(ranks.run("aborted shrinks", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    const int none = 0;
    sparsecollComm_t shrunk = nullptr;
    std::string wrong;
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (rank == 2) together.arrive_and_wait();  // the others wait for it until the abort
      std::thread aborter([&] {
        if (rank != 1) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        sparsecollCommAbort(comm);
      });
      if (sparsecollCommShrink(comm, &none, 0, &shrunk, nullptr) == sparsecollSuccess)
        wrong = "an aborted shrink succeeded; ";
      aborter.join();
      if (rank != 2) together.arrive_and_wait();
      together.arrive_and_wait();
    }
    if (!wrong.empty()) return wrong;
    const sparsecollResult_t result = sparsecollCommShrink(comm, &none, 0, &shrunk, nullptr);
    if (result != sparsecollSuccess) return test::explain(result, comm);
    return check_shrunk(shrunk, test::kAllgather, rank, 0b111, agreement);
  }) == "");
}

/// Rank 2 lives, is excluded by the others, and shrinks all the same.
std::string shrink_although_excluded(bool with_list, int round, int timeout_ms) {
  Communicators ranks(4, with_deadline(test::kAllgather, timeout_ms));
  Agreement agreement;
  return ranks.run("excluded", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t shrunk = nullptr;
    const int list[] = {2}, none = 0;
    if (rank == 2) {
      const sparsecollResult_t result =
          sparsecollCommShrink(comm, with_list ? &none : nullptr, 0, &shrunk, nullptr);
      return result == sparsecollInvalidUsage || result == sparsecollTimeout
                 ? ""
                 : test::explain(result, comm);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
    const sparsecollResult_t result = sparsecollCommShrink(comm, list, 1, &shrunk, nullptr);
    if (result != sparsecollSuccess) return test::explain(result, comm);
    return check_shrunk(shrunk, test::kAllgather, rank, 0b1011, agreement);
  });
}

TEST_CASE("a rank that is excluded and shrinks does not disturb the others") {
  for (const bool with_list : {false, true})
    for (int round = 0; round < 20; ++round)
      CHECK(test::with_longer_deadlines(kTimeoutMs, [&](int ms) {
              return shrink_although_excluded(with_list, round, ms);
            }) == "");
}

TEST_CASE("after an abort, and with queued calls, ranks go on") {
  sparsecollConfig_t config = with_deadline(test::kAllgather, kPatientMs);
  config.blocking = 0;
  Communicators ranks(3, config);
  for (int rank = 0; rank < 3; ++rank) ranks[rank].start();
  Agreement agreement;
  CHECK(ranks.run("queued", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    std::vector<float> x(kLength, 1.0f), y(kLength);
    for (int call = 0; call < 3; ++call)
      test::call_dense_verb<float>(test::Verb::kSparse, {x.data(), y.data(), kLength, 3}, comm);
    sparsecollCommSynchronize(comm);
    if (rank == 2) sparsecollCommAbort(comm);
    sparsecollComm_t shrunk = nullptr;
    const int none = 0;
    sparsecollConfig_t blocking = with_deadline(test::kAllgather, kPatientMs);
    const sparsecollResult_t result = sparsecollCommShrink(comm, &none, 0, &shrunk, &blocking);
    if (result != sparsecollSuccess) return test::explain(result, comm);
    if (sequence_of(shrunk) != 3) return text("sequence ", sequence_of(shrunk));
    return check_shrunk(shrunk, test::kAllgather, rank, 0b111, agreement);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::fault
