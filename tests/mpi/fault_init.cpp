// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// An init that one rank never calls, while the others call it with arguments that are right or
// wrong. Each of them must return after the deadline that it asked for: one bad argument does not
// make the others of no effect.

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mpi/fault_rank.hpp"
#include "support/config.hpp"

namespace {

using namespace sparsecoll::test;

constexpr double kLateSeconds = 5.0;  // a busy machine is late; the default is 600 s

/// Makes what the command line names wrong.
void spoil(const std::string& what, sparsecollConfig_t& config) {
  if (what == "algorithm") config.algorithm = 99;
  if (what == "device") config.device = -7;
  if (what == "variable") setenv("SPARSECOLL_ALGO", "fastest", 1);
  if (what == "deadline-variable") setenv("SPARSECOLL_TIMEOUT_MS", "soon", 1);
  if (what == "log") {
    setenv("SPARSECOLL_DEBUG", "INFO", 1);
    setenv("SPARSECOLL_DEBUG_FILE", "/nonexistent/folder/log", 1);
  }
  if (what == "magic") {  // nothing of such a struct counts, but the environment does
    config.magic = 1;
    setenv("SPARSECOLL_TIMEOUT_MS", std::to_string(kDeadlineMs).c_str(), 1);
  }
}

std::string init_alone(const std::string& what) {
  sparsecollConfig_t config = default_config();
  config.timeoutMs = kDeadlineMs;
  spoil(what, config);
  sparsecollComm_t comm = nullptr;
  const Stopwatch time;
  const sparsecollResult_t result =
      sparsecollCommInitMpi(what == "null" ? nullptr : &comm, MPI_COMM_WORLD, &config);
  const double took = time.seconds();
  std::printf("%s after %.3f s: %s\n", sparsecollGetErrorString(result), took,
              sparsecollGetLastError(nullptr));
  if (result != sparsecollTimeout) return explain(result, nullptr);
  if (comm != nullptr) return "there is a communicator";
  if (took < kDeadlineMs / 1000.0) return "it did not wait for the other ranks";
  return time.too_long("the init", kDeadlineMs / 1000.0 + kLateSeconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_rank(argc, argv, [](const FaultCase& fault, const Waker&) -> std::string {
    if (!fault.is_victim) return init_alone(fault.verb);
    std::this_thread::sleep_for(milliseconds(kDeadlineMs + 1000));
    return "";
  });
}
