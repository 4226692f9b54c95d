// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A call on host memory opens no files. Loading the CUDA driver would open some.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>

#include "api/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::unit {
namespace {

/// Makes every later open of a file kill this process with SIGSYS. Returns false if the system does
/// not support this.
bool forbid_files() {
  const auto load = static_cast<uint16_t>(BPF_LD | BPF_W | BPF_ABS);
  const auto equal = static_cast<uint16_t>(BPF_JMP | BPF_JEQ | BPF_K);
  const auto return_code = static_cast<uint16_t>(BPF_RET | BPF_K);
  std::array<sock_filter, 4> filter{{{load, 0, 0, offsetof(seccomp_data, nr)},
                                     {equal, 0, 1, SYS_openat},
                                     {return_code, 0, 0, SECCOMP_RET_TRAP},
                                     {return_code, 0, 0, SECCOMP_RET_ALLOW}}};
  const sock_fprog program{filter.size(), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum class Result { kSuccess, kOpenedFile, kNotSupported, kOther };

/// Runs prepare in a child process, and then body, which gets what prepare returned, without the
/// permission to open files.
template <class Prepare, class Body>
Result without_files(const Prepare& prepare, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    const auto prepared = prepare();
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSYS, SIG_DFL);  // the test framework handles this signal
    if (!forbid_files()) _exit(2);
    _exit(body(prepared) ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return Result::kOther;
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS ? Result::kOpenedFile : Result::kOther;
  return WEXITSTATUS(status) == 0   ? Result::kSuccess
         : WEXITSTATUS(status) == 2 ? Result::kNotSupported
                                    : Result::kOther;
}

TEST_CASE("a call on the host's memory opens no files") {
  const Result seen =
      without_files([] { return 0; }, [](int) { return open("/dev/null", O_RDONLY) >= 0; });
  if (seen == Result::kNotSupported || kSanitized) return;  // sanitizers read files themselves
  REQUIRE(seen == Result::kOpenedFile);
  // The communicator is the child's own: a forked process cannot use its parent's.
  const auto prepare = [] { return std::make_unique<test::Ranks>(1, test::default_config()); };
  CHECK(without_files(prepare, [](const std::unique_ptr<test::Ranks>& ranks) {
          std::vector<float> x(100, 1.0f);
          const test::Residual<float> residual(ranks->comm(0), x.size());
          const test::DenseCall<float> call{x.data(), x.data(),      x.size(),
                                            5,        sparsecollSum, residual.handle()};
          return test::call_dense_verb(test::Verb::kSparse, call, ranks->comm(0)) ==
                 sparsecollSuccess;
        }) == Result::kSuccess);
}

}  // namespace
}  // namespace sparsecoll::unit
