// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/allocation_failure.hpp"

#include <cstdlib>
#include <new>

namespace sparsecoll::unit {

namespace {

// operator new has no parameter for them.
thread_local AllocationFailures failures_of_thread;
thread_local size_t allocations_of_thread = 0;

void* allocate(size_t bytes) {
  ++allocations_of_thread;
  const AllocationFailures& now = failures_of_thread;
  const bool later = now.lasting && allocations_of_thread > now.fails_at;
  const bool fails = now.fails_at > 0 && (allocations_of_thread == now.fails_at || later);
  void* at = fails ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

}  // namespace

void begin_allocation_failures(const AllocationFailures& failures) noexcept {
  allocations_of_thread = 0;
  failures_of_thread = failures;
}

size_t end_allocation_failures() noexcept {
  failures_of_thread = AllocationFailures{};
  return allocations_of_thread;
}

}  // namespace sparsecoll::unit

void* operator new(std::size_t bytes) { return sparsecoll::unit::allocate(bytes); }
void* operator new[](std::size_t bytes) { return sparsecoll::unit::allocate(bytes); }
// Without this one, the operator of a sanitizer would serve these allocations.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return sparsecoll::unit::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
