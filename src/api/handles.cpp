// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/handles.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>

#include "api/communicator.hpp"
#include "api/push_sum_state.hpp"
#include "api/residual.hpp"
#include "core/error.hpp"

namespace sparsecoll {

// The tables are never destroyed: an object that the program did not destroy must not outlive its
// table at exit.

HandleTable<Communicator>& communicators() {
  static auto& table = *new HandleTable<Communicator>(1);
  return table;
}

HandleTable<Residual>& residuals() {
  static auto& table = *new HandleTable<Residual>(2);
  return table;
}

HandleTable<PushSumState>& push_sums() {
  static auto& table = *new HandleTable<PushSumState>(3);
  return table;
}

namespace {

std::atomic<uint64_t>& generation() {
  static std::atomic<uint64_t> forks{0};
  return forks;
}

void before_fork() {
  communicators().lock_for_fork();
  residuals().lock_for_fork();
  push_sums().lock_for_fork();
}

void in_parent() {
  push_sums().unlock_after_fork();
  residuals().unlock_after_fork();
  communicators().unlock_after_fork();
}

void in_child() {
  ++generation();
  in_parent();
}

bool watch_forks() {
  if (const int error = pthread_atfork(before_fork, in_parent, in_child))
    fail(sparsecollSystemError, "pthread_atfork: ", std::strerror(error));
  return true;
}

}  // namespace

uint64_t process_generation() {
  static const bool watched = watch_forks();
  static_cast<void>(watched);
  return generation().load(std::memory_order_relaxed);
}

}  // namespace sparsecoll
