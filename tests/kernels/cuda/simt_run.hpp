// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs kernels of a test on the emulator, in this process or, if they should fail, in a child
// process.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "kernels/cuda/launch.cuh"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {

struct Ending {
  int signal;
  std::string text;
};

/// Runs `body` in a child process. Returns how it ends and what it writes to stderr.
template <class Body>
Ending ending_of(const Body& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::signal(SIGSEGV, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(60);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ending ending{};
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    ending.text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return ending;
}

/// Returns whether the emulator ended the process with this message.
template <class Body>
void check_found(const Body& body, const std::string& words) {
  const Ending ending = ending_of(body);
  INFO(ending.text);
  CHECK(ending.signal == SIGABRT);
  CHECK(ending.text.find(words) != std::string::npos);
}

inline unsigned* numbers(size_t n) {
  void* at = nullptr;
  REQUIRE(cudaMalloc(&at, n * sizeof(unsigned)) == cudaSuccess);
  return static_cast<unsigned*>(at);
}
inline std::vector<unsigned> fetch(const unsigned* from, size_t n) {
  std::vector<unsigned> to(n);
  REQUIRE(cudaMemcpy(to.data(), from, n * sizeof(unsigned), cudaMemcpyDeviceToHost) == cudaSuccess);
  return to;
}

/// Runs a kernel and waits for it.
template <class... Parameters>
void run(size_t blocks, void (*kernel)(Parameters...), Parameters... parameters) {
  cuda::Backend backend(nullptr);
  cuda::launch(backend, blocks, kernel, parameters...);
  cudaStreamSynchronize(nullptr);
}
template <class... Parameters>
void run_together(size_t blocks, void (*kernel)(Parameters...), Parameters... parameters) {
  cuda::Backend backend(nullptr);
  cuda::launch_cooperative(backend, blocks, kernel, parameters...);
  cudaStreamSynchronize(nullptr);
}

}  // namespace sparsecoll::cuda_test
