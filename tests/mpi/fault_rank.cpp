// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/fault_rank.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

namespace {

/// Kills this rank in the middle of one of the next calls, at another point of the protocol in
/// every run.
void kill_soon() {
  const auto delay =
      std::chrono::microseconds(Clock::now().time_since_epoch().count() / 1000 % 20000);
  std::thread([delay] {
    std::this_thread::sleep_for(delay);
    raise(SIGKILL);
  }).detach();
}

/// Asks the script for this rank's fault; with `wait`, until it says that it is there.
void ask_for_fault(const std::string& directory, bool wait) {
  std::ofstream(directory + "/ask").flush();
  const auto start = Clock::now();
  while (wait && !std::filesystem::exists(directory + "/asked") && seconds_since(start) < 20.0)
    std::this_thread::sleep_for(milliseconds(5));
}

/// Waits until every rank that lives has its verdict, or for a long time, because a launcher that
/// sees one rank exit may end the others.
void wait_for_others(const FaultCase& fault, const std::string& directory) {
  const bool one_dies = fault.scenario == "exit" || fault.scenario.rfind("kill-", 0) == 0;
  const int victim = std::atoi(fault.victims_number.c_str());
  const auto file_of = [&](int rank) { return directory + "/done_" + std::to_string(rank); };
  std::ofstream(file_of(rank_in(MPI_COMM_WORLD))).flush();
  const auto all_done = [&] {
    for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
      if (one_dies && rank == victim) continue;
      if (!std::filesystem::exists(file_of(rank))) return false;
    }
    return true;
  };
  const auto start = Clock::now();
  while (!all_done() && seconds_since(start) < 20.0) std::this_thread::sleep_for(milliseconds(20));
}

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string Stopwatch::too_long(const std::string& what, double limit) const {
  const double took = seconds();
  if (took <= limit) return "";
  return what + " took " + std::to_string(took) + " s, in which a thread waited " +
         std::to_string(ready_.longest()) + " s for a CPU";
}

Waker::Waker() {
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

void Waker::stop_for(int delay) const {
  if (write(tell_, &delay, sizeof delay) != sizeof delay) std::abort();
  raise(SIGSTOP);
}

void Victim::before_call(int call, const Waker& waker) const {
  if (!is_me_) return;
  if (scenario_ == "kill-during" && call == kWarmUp) kill_soon();
  if (call != kWarmUp) return;
  if (scenario_ == "kill-before") raise(SIGKILL);
  if (scenario_ == "exit") _exit(0);
  if (scenario_ == "never") std::this_thread::sleep_for(milliseconds(2 * kDeadlineMs));
  if (scenario_ == "stop") waker.stop_for(2 * kDeadlineMs);
  if (scenario_ == "ask-before") ask_for_fault(directory_, true);
  if (scenario_ == "ask-during") ask_for_fault(directory_, false);
  if (scenario_ == "pause") waker.stop_for(kDeadlineMs / 3);
}

void Victim::after_call(int call) const {
  if (is_me_ && scenario_ == "kill-after" && call == kWarmUp) raise(SIGKILL);
}

std::string check_poisoned(sparsecollComm_t comm, const std::function<sparsecollResult_t()>& call,
                           sparsecollResult_t first) {
  const std::string message = sparsecollGetLastError(comm);
  if (message.empty()) return "no message";
  const Stopwatch call_time;
  const sparsecollResult_t again = call();
  if (again != first) return "a later call returned " + explain(again, comm);
  if (message != sparsecollGetLastError(comm)) return "the message changed";
  std::string text = call_time.too_long("a later call", 1.0);
  if (!text.empty()) return text;
  const Stopwatch destroy_time;
  const sparsecollResult_t destroyed = sparsecollCommDestroy(comm);
  const double took = destroy_time.seconds();
  text = destroy_time.too_long("destroy", 1.0);
  if (!text.empty()) return text;
  if (destroyed != sparsecollSuccess) {
    return std::string("destroy returned ") + sparsecollGetErrorString(destroyed);
  }
  std::printf("destroy %.3f s; %s\n", took, message.c_str());
  return "";
}

int run_rank(int argc, char** argv,
             const std::function<std::string(const FaultCase&, const Waker&)>& body) {
  if (argc != 5) return 2;
  const Waker waker;
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const std::string path = std::string(argv[4]) + "/rank_" + std::to_string(rank);
  if (std::freopen(path.c_str(), "w", stdout) == nullptr) return 2;
  const HangGuard guard("mpi fault", 1, std::chrono::seconds(50));
  const FaultCase fault{argv[1], argv[2], argv[3], rank == std::atoi(argv[3]), argv[4]};
  const std::string text = body(fault, waker);
  std::printf("%s\n", text.empty() ? "PASS" : ("FAIL: " + text).c_str());
  std::fflush(stdout);
  if (fault.scenario == "pause") {
    MPI_Finalize();
    return 0;
  }
  wait_for_others(fault, argv[4]);
  _exit(0);  // MPI_Finalize would wait for the dead
}

}  // namespace sparsecoll::test
