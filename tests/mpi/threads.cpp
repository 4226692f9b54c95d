// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests MPI's thread levels: allowed calls work, others are refused.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"

namespace {

using namespace sparsecoll::test;

std::string in_another_thread(const std::function<std::string()>& body) {
  std::string text;
  std::thread thread([&] {
    try {
      text = body();
    } catch (const std::exception& error) {
      text = error.what();
    }
  });
  thread.join();
  return text;
}

std::string call_in_vain(sparsecollComm_t comm) {
  std::vector<float> x(10, 1.0f);
  return expect("the verb",
                sparseAllreduce(x.data(), x.data(), x.size(), 2, sparsecollFloat32, sparsecollSum,
                                nullptr, comm, nullptr),
                sparsecollInvalidUsage, comm);
}

/// SINGLE and FUNNELED allow the main thread only.
void check_main_thread_only(Verdict& verdict) {
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  const Case c{1, kAuto, 300, 10, Kind::kHeavyTail};
  verdict.check("the main thread", join_case(comm.get(), c));
  verdict.check("a verb in another thread",
                in_another_thread([&] { return call_in_vain(comm.get()); }));
  verdict.check("an init in another thread", in_another_thread([] {
                  sparsecollComm_t other = nullptr;
                  const sparsecollResult_t result =
                      sparsecollCommInitMpi(&other, MPI_COMM_WORLD, nullptr);
                  return expect("the init", result, sparsecollInvalidUsage, nullptr);
                }));
  verdict.check("the main thread again", join_case(comm.get(), c));
}

/// SERIALIZED allows any thread, one at a time.
void check_one_at_a_time(Verdict& verdict) {
  const Case c{1, kOktopk, 300, 10, Kind::kHeavyTail};
  verdict.check("everything in another thread", in_another_thread([&] {
                  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(kOktopk));
                  return join_case(comm.get(), c);
                }));
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(kOktopk));
  verdict.check("made here, used there",
                in_another_thread([&] { return join_case(comm.get(), c); }));
  verdict.check("and here again", join_case(comm.get(), c));
}

/// MULTIPLE allows two communicators in two threads at the same time.
void check_at_once(Verdict& verdict) {
  const MpiCommunicator one(MPI_COMM_WORLD, config_of(kOktopk));
  const MpiCommunicator two(MPI_COMM_WORLD, config_of(kAllgather));
  verdict.check("two threads", run_threads("two communicators", 2, [&](int thread) {
                  for (std::uint64_t call = 0; call < 100; ++call) {
                    const Mode& mode = call % 3 == 2 ? kGtopk : thread == 0 ? kOktopk : kAllgather;
                    const Case c{call, mode, 400, 12, Kind::kHeavyTail};
                    const std::string text = join_case(thread == 0 ? one.get() : two.get(), c);
                    if (!text.empty()) return text;
                  }
                  return std::string();
                }));
}

int level_of(const char* name) {
  if (std::strcmp(name, "single") == 0) return MPI_THREAD_SINGLE;
  if (std::strcmp(name, "funneled") == 0) return MPI_THREAD_FUNNELED;
  if (std::strcmp(name, "serialized") == 0) return MPI_THREAD_SERIALIZED;
  return MPI_THREAD_MULTIPLE;
}

}  // namespace

int main(int argc, char** argv) {
  const int wanted = level_of(argc > 1 ? argv[1] : "multiple");
  int level = 0;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  int code = 0;
  {
    const HangGuard guard("mpi threads", 1);
    Verdict verdict;
    // An MPI may give more than was asked for: test what there is.
    if (level <= MPI_THREAD_FUNNELED) check_main_thread_only(verdict);
    if (level >= MPI_THREAD_SERIALIZED) check_one_at_a_time(verdict);
    if (level >= MPI_THREAD_MULTIPLE) check_at_once(verdict);
    code = verdict.report("mpi threads");
  }
  MPI_Finalize();
  return code;
}
