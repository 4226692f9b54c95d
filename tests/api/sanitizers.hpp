// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Detects the sanitizer of this build, and exempts intended leaks. SPARSECOLL_TEST_SANITIZED is
// defined if the sanitizer has an allocator of its own.

#if defined(__has_feature)
#define SPARSECOLL_TEST_FEATURE(name) __has_feature(name)
#else
#define SPARSECOLL_TEST_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SPARSECOLL_TEST_FEATURE(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define SPARSECOLL_TEST_SANITIZED 1
#elif defined(__SANITIZE_THREAD__) || SPARSECOLL_TEST_FEATURE(thread_sanitizer)
#define SPARSECOLL_TEST_SANITIZED 1
#endif

namespace sparsecoll::unit {

#ifdef SPARSECOLL_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || SPARSECOLL_TEST_FEATURE(address_sanitizer)
/// While it exists, allocations of this thread are not reported as leaks.
using LeaksAllowed = __lsan::ScopedDisabler;
#else
struct LeaksAllowed {
  LeaksAllowed() {}
};
#endif

}  // namespace sparsecoll::unit

#undef SPARSECOLL_TEST_FEATURE
