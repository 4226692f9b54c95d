// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// fault SCENARIO VERB VICTIM DIRECTORY
// One rank dies, stops, sleeps or leaves; every other rank writes to DIRECTORY/rank_R what it saw.
// What must be seen: Timeout or RemoteError within the deadline and a second, the same at once from
// every later call, and a destroy that ends. run_fault.sh collects the files.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "mpi/verdict.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/hang_guard.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kDeadlineMs = 1500;
constexpr int kWarmUp = 3;
constexpr int kCallsAtMost = 100000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Mode mode_of(const std::string& verb) {
  if (verb == "allgather") return kAllgather;
  if (verb == "dense") return kDense;
  if (verb == "gtopk") return kGtopk;
  return kOktopk;
}

/// A child, made before MPI starts, that wakes its parent some time after being told.
class Waker {
 public:
  Waker() {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t parent = getpid();
    if (fork() == 0) {
      for (const int fd : {0, 1, 2, ends[1]}) close(fd);
      int delay = 0;
      if (read(ends[0], &delay, sizeof delay) == sizeof delay) {
        usleep(static_cast<useconds_t>(delay) * 1000);
        if (getppid() == parent) kill(parent, SIGCONT);
      }
      _exit(0);
    }
    close(ends[0]);
    tell_ = ends[1];
  }

  /// Stops this process for about `delay` milliseconds.
  void stop_for(int delay) const {
    if (write(tell_, &delay, sizeof delay) != sizeof delay) std::abort();
    raise(SIGSTOP);
  }

 private:
  int tell_;
};

/// The rank that fails, and when.
class Victim {
 public:
  Victim(std::string scenario, bool is_me) : scenario_(std::move(scenario)), is_me_(is_me) {}

  void before_call(int call, const Waker& waker) const {
    if (!is_me_) return;
    if (scenario_ == "kill-during" && call == kWarmUp) kill_soon();
    if (call != kWarmUp) return;
    if (scenario_ == "kill-before") raise(SIGKILL);
    if (scenario_ == "exit") _exit(0);
    if (scenario_ == "never") std::this_thread::sleep_for(milliseconds(kDeadlineMs + 1500));
    if (scenario_ == "stop") waker.stop_for(kDeadlineMs + 1500);
    if (scenario_ == "pause") waker.stop_for(kDeadlineMs / 3);
  }

  void after_call(int call) const {
    if (is_me_ && scenario_ == "kill-after" && call == kWarmUp) raise(SIGKILL);
  }

  /// Whether everything is expected to work, for a few calls more.
  bool harmless() const { return scenario_ == "pause"; }

  /// Whether the victim never joins the call that fails, so that everybody can tell who is missing.
  bool stays_away() const {
    return scenario_ == "kill-before" || scenario_ == "never" || scenario_ == "stop" ||
           scenario_ == "exit";
  }
  bool is_me() const { return is_me_; }

 private:
  /// In the middle of one of the coming calls: another point of the protocol in every run.
  static void kill_soon() {
    const auto delay =
        std::chrono::microseconds(Clock::now().time_since_epoch().count() / 1000 % 20000);
    std::thread([delay] {
      std::this_thread::sleep_for(delay);
      raise(SIGKILL);
    }).detach();
  }

  std::string scenario_;
  bool is_me_;
};

/// What a poisoned communicator owes: the first error again, at once, and an end.
std::string check_poisoned(sparsecollComm_t comm, const Mode& mode, sparsecollResult_t first) {
  std::vector<float> x(10, 1.0f);
  const std::string message = sparsecollGetLastError(comm);
  if (message.empty()) return "no message";
  Clock::time_point start = Clock::now();
  const sparsecollResult_t again =
      call_dense_verb<float>(mode.verb, {x.data(), x.data(), x.size(), 2}, comm);
  if (again != first) return "a later call returned " + explain(again, comm);
  if (message != sparsecollGetLastError(comm)) return "the message changed";
  if (seconds_since(start) > 1.0) return "a later call waited";
  start = Clock::now();
  const sparsecollResult_t destroyed = sparsecollCommDestroy(comm);
  const double took = seconds_since(start);
  if (took > 1.0) return "destroy took " + std::to_string(took) + " s";
  if (destroyed != sparsecollSuccess) {
    return std::string("destroy returned ") + sparsecollGetErrorString(destroyed);
  }
  std::printf("destroy %.3f s; %s\n", took, message.c_str());
  return "";
}

constexpr std::size_t kLength = std::size_t{1} << 17;
constexpr std::size_t kKept = kLength / 100;

std::vector<float> send_of(int rank) {
  return make_data<float>(Kind::kHeavyTail, kLength, rank, 8, 1);
}

/// Old or new, never between: this rank's residual is, bit for bit, what the oracle has after so
/// many calls or after one more.
std::string check_residual(const Mode& mode, int calls, const std::vector<float>& residual) {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const auto own = static_cast<std::size_t>(rank_in(MPI_COMM_WORLD));
  sparsecoll::oracle::DenseInputs<float> in;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    in.sends.push_back(send_of(static_cast<int>(rank)));
  in.residuals.assign(ranks, std::vector<float>(kLength, 0.0f));
  for (int call = 0; call < calls; ++call)
    in.residuals = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum).residuals;
  const std::string before = difference("residual", residual, in.residuals[own]);
  if (before.empty()) return "";
  const auto next = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum).residuals;
  const std::string after = difference("residual", residual, next[own]);
  return after.empty() ? "" : "neither as before: " + before + "; nor as after: " + after;
}

/// Calls until one fails. Large enough for a kill to hit the middle of something.
std::string run(sparsecollComm_t comm, const Mode& mode, const Victim& victim,
                const std::string& victims_number, const Waker& waker) {
  const std::vector<float> send = send_of(rank_in(MPI_COMM_WORLD));
  std::vector<float> recv(kLength);
  const Residual<float> residual(comm, kLength);
  const int calls = victim.harmless() ? kWarmUp + 5 : kCallsAtMost;
  for (int call = 0; call < calls; ++call) {
    victim.before_call(call, waker);
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t result = call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), kLength, kKept, sparsecollSum, residual.handle()},
        comm);
    const double took = seconds_since(start);
    if (took > kDeadlineMs / 1000.0 + 1.0) return "a call took " + std::to_string(took) + " s";
    victim.after_call(call);
    if (result == sparsecollSuccess) continue;
    if (victim.harmless()) return explain(result, comm);
    if (result != sparsecollTimeout && result != sparsecollRemoteError)
      return explain(result, comm);
    if (call < kWarmUp) return "too early: " + explain(result, comm);
    std::printf("call %d: %s after %.3f s; ", call, sparsecollGetErrorString(result), took);
    const std::string message = sparsecollGetLastError(comm);
    if (victim.stays_away() && !victim.is_me() && !has_word(message, victims_number)) {
      return "the missing rank is not named: " + message;
    }
    const std::vector<float> kept = residual.read();
    const std::string poisoned = check_poisoned(comm, mode, result);
    return poisoned.empty() ? check_residual(mode, call, kept) : poisoned;
  }
  if (!victim.harmless()) return "no call failed";
  return expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Waker waker;
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const std::string path = std::string(argv[4]) + "/rank_" + std::to_string(rank);
  if (std::freopen(path.c_str(), "w", stdout) == nullptr) return 2;
  const HangGuard guard("mpi fault", 1, std::chrono::seconds(50));
  const Mode mode = mode_of(argv[2]);
  sparsecollConfig_t config = config_of(mode);
  config.timeoutMs = kDeadlineMs;
  sparsecollComm_t comm = nullptr;
  std::string text = expect("init", sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config),
                            sparsecollSuccess, nullptr);
  if (text.empty())
    text = run(comm, mode, Victim(argv[1], rank == std::atoi(argv[3])), argv[3], waker);
  std::printf("%s\n", text.empty() ? "PASS" : ("FAIL: " + text).c_str());
  std::fflush(stdout);
  // MPI_Finalize would wait for the dead. Let slower ranks finish before the launcher sees an exit.
  if (std::strcmp(argv[1], "pause") == 0) {
    MPI_Finalize();
    return 0;
  }
  std::this_thread::sleep_for(milliseconds(4000));
  _exit(0);
}
