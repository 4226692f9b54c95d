// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/cases.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "api/sanitizers.hpp"

namespace sparsecoll::fault {

std::string run_cases(size_t count, const std::function<std::string(size_t)>& check) {
  // Most cases only wait for a deadline, so that more of them than cores run at the same time.
  const size_t threads_at_once = unit::kSanitized ? 4 : 12;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::string first;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < threads_at_once; ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) {
        const std::string verdict = check(i);
        if (verdict.empty()) continue;
        const std::lock_guard lock(mutex);
        if (first.empty()) first = verdict;
        next = count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first.empty()) std::printf("%zu cases\n", count);
  return first;
}

size_t number_from(const char* variable, size_t otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace sparsecoll::fault
