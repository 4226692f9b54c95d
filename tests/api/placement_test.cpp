// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// No thread of the library runs outside the CPUs of the thread that started it: /proc says where
// each may run.

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "core/thread_placement.hpp"
#include "sparsecoll/sparsecoll.h"
#include "support/catch.hpp"
#include "support/variable.hpp"

namespace sparsecoll::unit {
namespace {

namespace fs = std::filesystem;

std::set<std::string> threads_of_process() {
  std::set<std::string> threads;
  for (const auto& each : fs::directory_iterator("/proc/self/task"))
    threads.insert(each.path().filename());
  return threads;
}

/// Returns a thread's CPUs as /proc lists them, such as "0-3,8".
std::string cpus_of(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Cpus_allowed_list:", 0) == 0)
      return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  return "";
}

/// Selects from a long vector in a queued call with two threads, and returns the CPUs of all
/// threads that this started. Errors are returned in place of CPUs.
std::set<std::string> cpus_of_new_threads() {
  const std::set<std::string> before = threads_of_process();
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.blocking = 0;
  sparsecollComm_t comm = nullptr;
  std::vector<float> values(size_t{1} << 20, 1.0f), result(values.size());
  if (sparsecollCommInitAll(&comm, 1, nullptr, &config) != sparsecollSuccess) return {"init"};
  if (sparseAllreduce(values.data(), result.data(), values.size(), 1000, sparsecollFloat32,
                      sparsecollSum, nullptr, comm, nullptr) != sparsecollSuccess ||
      sparsecollCommSynchronize(comm) != sparsecollSuccess)
    return {"call"};
  std::set<std::string> cpus;
  size_t started = 0;
  for (const std::string& thread : threads_of_process()) {
    if (before.contains(thread)) continue;
    cpus.insert(cpus_of(thread));
    ++started;
  }
  sparsecollCommDestroy(comm);
  // The queue's thread and one more for the loop. A sanitizer may have threads of its own.
  return started < 2 ? std::set<std::string>{"too few threads"} : cpus;
}

/// Calls body() on a thread that is bound to these CPUs.
template <class Body>
void bound_to(const Cpus& cpus, Body body) {
  std::thread([&] {
    bind_this_thread(cpus);
    REQUIRE(own_cpus() == cpus);
    body();
  }).join();
}

TEST_CASE("a rank that is bound to one CPU starts no thread elsewhere") {
  const test::Variable threads("SPARSECOLL_THREADS", "2");
  for (const size_t cpu : own_cpus())
    bound_to({cpu}, [&] { CHECK(cpus_of_new_threads() == std::set{std::to_string(cpu)}); });
}

TEST_CASE("threads stay within the binding if hwloc fails, or describes another machine") {
  const test::Variable threads("SPARSECOLL_THREADS", "2");
  const size_t cpu = own_cpus().back();
  bound_to({cpu}, [&] {
    {
      const test::Variable no_component("HWLOC_COMPONENTS", "stop");
      CHECK(!Hardware::here());
      CHECK(cpus_of_new_threads() == std::set{std::to_string(cpu)});
    }
    const test::Variable other("HWLOC_SYNTHETIC", "package:2 numa:2 core:2 pu:2");
    CHECK(cpus_of_new_threads() == std::set{std::to_string(cpu)});
  });
}

TEST_CASE("threads of loops are bound to a CPU each, unless SPARSECOLL_BIND is 0") {
  const Cpus own = own_cpus();
  if (own.size() < 2) return;
  const test::Variable threads("SPARSECOLL_THREADS", "2");
  bound_to({own[0], own[1]}, [&] {
    const std::set<std::string> one{std::to_string(own[0]), std::to_string(own[1])};
    size_t single = 0;
    for (const std::string& cpus : cpus_of_new_threads()) single += one.contains(cpus);
    CHECK(single == 1);
    const test::Variable unbound("SPARSECOLL_BIND", "0");
    for (const std::string& cpus : cpus_of_new_threads()) CHECK(!one.contains(cpus));
  });
}

}  // namespace
}  // namespace sparsecoll::unit
