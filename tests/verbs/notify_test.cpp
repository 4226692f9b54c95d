// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparsecollCommNotify, and what any thread may call while another one makes or queues calls.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

using std::chrono::milliseconds;

sparsecollConfig_t config_with(int blocking) {
  sparsecollConfig_t config = default_config();
  config.blocking = blocking;
  return config;
}

sparsecollResult_t add(float* x, sparsecollComm_t comm) {
  return sparseAllreduce(x, x, 4, 4, sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr);
}

std::uint64_t sequence_of(sparsecollComm_t comm) {
  std::uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

/// What notifications report, by order of their calls.
class Heard {
 public:
  struct Call {
    std::uint64_t sequence;
    sparsecollResult_t result;
    std::thread::id thread;
  };

  static void done(void* user, std::uint64_t sequence, sparsecollResult_t result) {
    static_cast<Heard*>(user)->add({sequence, result, std::this_thread::get_id()});
  }
  sparsecollResult_t ask(sparsecollComm_t comm, std::uint64_t sequence) {
    return sparsecollCommNotify(comm, sequence, done, this);
  }
  std::vector<Call> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  /// Returns all calls once there are that many.
  std::vector<Call> wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return calls_.size() >= number; });
    return calls_;
  }

 private:
  void add(const Call& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    changed_.notify_all();
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
};

TEST_CASE("each notification is called once, in order, with the result of its call") {
  constexpr std::size_t kCalls = 30;
  for (const int blocking : {1, 0}) {
    const Ranks ranks(3, config_with(blocking));
    CHECK(ranks.run("notify", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<std::vector<float>> x(kCalls, std::vector<float>(4, 1.0f));
      Heard heard;
      std::string verdict;
      for (std::size_t c = 0; c < kCalls; ++c) {
        verdict += expect("call", add(x[c].data(), comm), sparsecollSuccess, comm);
        verdict += expect("notify", heard.ask(comm, c + 1), sparsecollSuccess, comm);
        if (blocking && heard.calls().size() != c + 1) verdict += "it was not called at once; ";
      }
      verdict += expect("wait", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      const auto calls = heard.calls();
      if (calls.size() != kCalls) return verdict + "another number of calls";
      for (std::size_t c = 0; c < kCalls; ++c) {
        const bool here = calls[c].thread == std::this_thread::get_id();
        if (calls[c].sequence != c + 1 || calls[c].result != sparsecollSuccess ||
            here != (blocking == 1) || x[c][3] != 3.0f)
          verdict += "call " + std::to_string(c) + "; ";
      }
      return verdict;
    }) == "");
  }
}

TEST_CASE("a notification of a call that has ended comes at once, and without a call too") {
  const Ranks ranks(1, config_with(0));
  const sparsecollComm_t comm = ranks.comm(0);
  Heard heard;
  std::vector<float> x(4, 1.0f);
  CHECK(heard.ask(comm, 0) == sparsecollSuccess);
  CHECK(heard.wait_for(1).size() == 1);
  REQUIRE(add(x.data(), comm) == sparsecollSuccess);
  REQUIRE(sparsecollCommSynchronize(comm) == sparsecollSuccess);
  CHECK(heard.ask(comm, 1) == sparsecollSuccess);
  CHECK(heard.ask(comm, 1) == sparsecollSuccess);
  const auto calls = heard.wait_for(3);
  REQUIRE(calls.size() == 3);
  CHECK(calls[2].sequence == 1);
  CHECK(calls[2].thread != std::this_thread::get_id());
}

TEST_CASE("bad arguments of CommNotify are refused, and nothing is called") {
  for (const int blocking : {1, 0}) {
    const Ranks ranks(1, config_with(blocking));
    const sparsecollComm_t comm = ranks.comm(0);
    Heard heard;
    CHECK(sparsecollCommNotify(comm, 0, nullptr, &heard) == sparsecollInvalidArgument);
    CHECK(std::string(sparsecollGetLastError(comm)).find("done") != std::string::npos);
    CHECK(heard.ask(comm, 1) == sparsecollInvalidArgument);
    CHECK(std::string(sparsecollGetLastError(comm)).find("sequence") != std::string::npos);
    CHECK(heard.ask(nullptr, 0) == sparsecollInvalidArgument);
    CHECK(heard.calls().empty());
  }
}

TEST_CASE("the failure of a call is told to notifications and to every wait for it") {
  for (const int blocking : {1, 0}) {
    const Ranks ranks(2, config_with(blocking));
    CHECK(ranks.run("failure", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      const sparsecollResult_t want =
          rank == 1 ? sparsecollInvalidArgument : sparsecollInvalidUsage;
      std::vector<float> x(4, 1.0f), y(4, 1.0f);
      Heard heard;
      add(x.data(), comm);
      add(rank == 1 ? nullptr : x.data(), comm);
      add(y.data(), comm);
      std::string verdict;
      for (const std::uint64_t call : {1, 2, 3})
        verdict += expect("notify", heard.ask(comm, call), sparsecollSuccess, comm);
      for (int again = 0; again < 2; ++again) {
        verdict += expect("wait for 2", sparsecollCommWait(comm, 2), want, comm);
        if (std::string(sparsecollGetLastError(comm)).find("sparseAllreduce, call 2: ") ==
            std::string::npos)
          verdict += std::string("the message is ") + sparsecollGetLastError(comm);
        verdict += expect("wait for 1", sparsecollCommWait(comm, 1), sparsecollSuccess, comm);
        verdict += expect("wait for 3", sparsecollCommWait(comm, 3), sparsecollSuccess, comm);
      }
      const auto calls = heard.wait_for(3);
      if (calls.size() != 3 || calls[0].result != sparsecollSuccess || calls[1].result != want ||
          calls[2].result != sparsecollSuccess)
        verdict += "the notifications";
      return verdict;
    }) == "");
  }
}

/// Destroys a communicator with three calls that no peer makes, after an abort or by the deadline,
/// which is also that of the init.
std::string end_with_unfinished_calls(bool aborts, int deadline_ms) {
  sparsecollConfig_t config = config_with(0);
  config.timeoutMs = deadline_ms;
  Ranks ranks(2, config);
  const sparsecollComm_t comm = ranks.comm(0);
  Heard heard;
  std::vector<std::vector<float>> x(3, std::vector<float>(4, 1.0f));
  for (std::uint64_t call = 1; call <= 3; ++call) {
    const sparsecollResult_t queued = add(x[call - 1].data(), comm);
    if (queued == sparsecollTimeout) return "call 1 had failed by the deadline";
    REQUIRE(queued == sparsecollSuccess);
    REQUIRE(heard.ask(comm, call) == sparsecollSuccess);
  }
  if (!heard.calls().empty()) return "a notification had come by the deadline";
  if (aborts) CHECK(sparsecollCommAbort(comm) == sparsecollSuccess);
  ranks.destroy(0);
  const auto calls = heard.calls();
  REQUIRE(calls.size() == 3);
  for (const auto& each : calls)
    CHECK((each.result == sparsecollInvalidUsage || each.result == sparsecollTimeout));
  CHECK(heard.ask(comm, 1) == sparsecollInvalidArgument);
  return "";
}

TEST_CASE("notifications of calls that never end come at the end of the communicator") {
  CHECK(end_with_unfinished_calls(true, 60000) == "");
  CHECK(with_longer_deadlines(300, [](int ms) { return end_with_unfinished_calls(false, ms); }) ==
        "");
}

/// Calls functions of every kind on a communicator from its notification.
struct Intruder {
  sparsecollComm_t comm;
  sparsecollResidual_t residual;
  std::string wrong = "it was not called";

  void intrude() {
    wrong = "";
    float x[4] = {};
    int number = 0;
    std::uint64_t sequence = 0;
    sparsecollResult_t error = sparsecollSuccess;
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollResidual_t other = nullptr;
    Heard heard;
    const std::pair<const char*, sparsecollResult_t> calls[] = {
        {"CommRank", sparsecollCommRank(comm, &number)},
        {"CommGetSequence", sparsecollCommGetSequence(comm, &sequence)},
        {"CommGetAsyncError", sparsecollCommGetAsyncError(comm, &error)},
        {"CommGetStats", sparsecollCommGetStats(comm, sparsecollStatsLast, &stats)},
        {"CommAbort", sparsecollCommAbort(comm)},
        {"CommDestroy", sparsecollCommDestroy(comm)},
        {"CommWait", sparsecollCommWait(comm, 1)},
        {"CommNotify", heard.ask(comm, 1)},
        {"CommSynchronize", sparsecollCommSynchronize(comm)},
        {"GroupStart", sparsecollGroupStart(comm)},
        {"sparseAllreduce", add(x, comm)},
        {"ResidualCreate", sparsecollResidualCreate(&other, 4, sparsecollFloat32, comm)},
        {"ResidualRead", sparsecollResidualRead(residual, x)}};
    for (const auto& [name, result] : calls)
      if (result != sparsecollInvalidUsage)
        wrong += std::string(name) + ": " + sparsecollGetErrorString(result) + "; ";
    const std::string message = sparsecollGetLastError(comm);
    if (message.find("callback of sparsecollCommNotify") == std::string::npos)
      wrong += "the message is " + message;
    if (!heard.calls().empty()) wrong += "a notification in a notification";
  }
};

TEST_CASE("in a notification every function on the communicator is refused, and all goes on") {
  for (const int blocking : {1, 0}) {
    const Ranks ranks(2, config_with(blocking));
    CHECK(ranks.run("intrude", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      const Residual<float> residual(comm, 4);
      std::vector<float> x(4, 1.0f);
      Intruder intruder{comm, residual.handle()};
      std::string verdict = expect("call", add(x.data(), comm), sparsecollSuccess, comm);
      const sparsecollResult_t asked = sparsecollCommNotify(
          comm, 1,
          [](void* user, std::uint64_t, sparsecollResult_t) {
            static_cast<Intruder*>(user)->intrude();
          },
          &intruder);
      verdict += expect("notify", asked, sparsecollSuccess, comm);
      verdict += expect("again", add(x.data(), comm), sparsecollSuccess, comm);
      verdict += expect("wait", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      if (x[0] != 4.0f) verdict += "wrong sum; ";
      return verdict + intruder.wrong;
    }) == "");
  }
}

TEST_CASE("a notification that throws is InvalidUsage with its words, and all goes on") {
  const std::tuple<sparsecollNotify_t, const char*> throwers[] = {
      {[](void*, std::uint64_t, sparsecollResult_t) { throw std::runtime_error("mine"); }, "mine"},
      {[](void*, std::uint64_t, sparsecollResult_t) { throw std::bad_alloc(); }, "bad_alloc"},
      {[](void*, std::uint64_t, sparsecollResult_t) { throw 7; }, "no std::exception"}};
  for (const int blocking : {1, 0}) {
    const Ranks ranks(1, config_with(blocking));
    const sparsecollComm_t comm = ranks.comm(0);
    for (const auto& [thrower, words] : throwers) {
      std::vector<float> x(4, 1.0f);
      REQUIRE(add(x.data(), comm) == sparsecollSuccess);
      const sparsecollResult_t asked =
          sparsecollCommNotify(comm, sequence_of(comm), thrower, nullptr);
      const sparsecollResult_t waited = sparsecollCommSynchronize(comm);
      CHECK((blocking ? asked : waited) == sparsecollInvalidUsage);
      CHECK((blocking ? waited : asked) == sparsecollSuccess);
      INFO(sparsecollGetLastError(comm));
      CHECK(std::string(sparsecollGetLastError(comm)).find(words) != std::string::npos);
      CHECK(sparsecollCommWait(comm, sequence_of(comm)) == sparsecollSuccess);
    }
  }
}

TEST_CASE("threads wait, ask and get notifications while another one makes calls") {
  constexpr std::uint64_t kCalls = 200;
  for (const int blocking : {1, 0}) {
    const Ranks ranks(2, config_with(blocking));
    CHECK(ranks.run("threads", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      std::atomic<std::uint64_t> made{0};
      std::atomic<int> wrong{0};
      Heard heard;
      const auto watch = [&](std::uint64_t step) {
        for (std::uint64_t call = 1; call <= kCalls; call += step) {
          while (made < call) std::this_thread::yield();
          sparsecollResult_t error = sparsecollInternalError;
          sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
          if (sparsecollCommWait(comm, call) != sparsecollSuccess ||
              sparsecollCommGetAsyncError(comm, &error) != sparsecollSuccess ||
              (error != sparsecollSuccess && error != sparsecollInProgress) ||
              sparsecollCommGetStats(comm, sparsecollStatsTotal, &stats) != sparsecollSuccess ||
              sequence_of(comm) < call || heard.ask(comm, call) != sparsecollSuccess)
            ++wrong;
        }
      };
      std::thread first(watch, 1), second(watch, 3);
      std::vector<std::vector<float>> x(kCalls, std::vector<float>(4, 1.0f));
      std::string verdict;
      for (std::uint64_t call = 1; call <= kCalls; ++call) {
        verdict += expect("call", add(x[call - 1].data(), comm), sparsecollSuccess, comm);
        made = call;
      }
      first.join();
      second.join();
      verdict += expect("wait", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      if (wrong > 0) verdict += std::to_string(wrong) + " wrong answers; ";
      if (heard.wait_for(kCalls + (kCalls + 2) / 3).size() != kCalls + (kCalls + 2) / 3)
        verdict += "notifications";
      return verdict;
    }) == "");
  }
}

TEST_CASE("CommWait and CommNotify wait for a blocking call of another thread") {
  const Ranks ranks(2, config_with(1));
  const sparsecollComm_t comm = ranks.comm(0);
  std::vector<float> x(4, 1.0f), y(4, 1.0f);
  std::thread caller([&] { add(x.data(), comm); });
  while (sequence_of(comm) == 0) std::this_thread::yield();
  std::atomic<bool> peer_called{false};
  std::thread peer([&] {
    std::this_thread::sleep_for(milliseconds(100));
    peer_called = true;
    add(y.data(), ranks.comm(1));
  });
  Heard heard;
  CHECK(heard.ask(comm, 1) == sparsecollSuccess);
  CHECK(peer_called);
  CHECK(sparsecollCommWait(comm, 1) == sparsecollSuccess);
  CHECK(heard.calls().size() == 1);
  caller.join();
  peer.join();
  CHECK(x[0] == 2.0f);
}

TEST_CASE("each thread has its own last error; a thread without one sees that of others") {
  const Ranks ranks(1, config_with(1));
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(std::string(sparsecollGetLastError(comm)) == "");
  std::vector<float> x(4, 1.0f);
  CHECK(add(nullptr, comm) == sparsecollInvalidArgument);
  const std::string mine = sparsecollGetLastError(comm);
  CHECK(mine.find("sendbuff") != std::string::npos);
  std::string theirs, others;
  std::thread([&] {
    others = sparsecollGetLastError(comm);
    sparsecollCommWait(comm, 99);
    theirs = sparsecollGetLastError(comm);
  }).join();
  CHECK(others == mine);
  CHECK(theirs.find("sparsecollCommWait") != std::string::npos);
  CHECK(std::string(sparsecollGetLastError(comm)) == mine);
}

TEST_CASE("a thread that comes while another is inside is refused by the names of both") {
  const Ranks ranks(2, config_with(1));
  const sparsecollComm_t comm = ranks.comm(0);
  std::vector<float> x(4, 1.0f), y(4, 1.0f);
  std::atomic<pid_t> caller_id{0};
  std::thread caller([&] {
    caller_id = gettid();
    add(x.data(), comm);
  });
  while (sequence_of(comm) == 0) std::this_thread::yield();
  CHECK(sparsecollCommSynchronize(comm) == sparsecollInvalidUsage);
  const std::string message = sparsecollGetLastError(comm);
  INFO(message);
  CHECK(has_word(message, std::to_string(caller_id)));
  CHECK(has_word(message, std::to_string(gettid())));
  CHECK(message.find("in sparseAllreduce") != std::string::npos);
  CHECK(message.find("in sparsecollCommSynchronize") != std::string::npos);
  add(y.data(), ranks.comm(1));
  caller.join();
}

}  // namespace
}  // namespace sparsecoll::test
