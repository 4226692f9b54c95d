// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Atomics on device memory or shared memory, with relaxed order.

#include <type_traits>

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "sums of floats by atomics are not reproducible");
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < old &&
         !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value > old &&
         !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

/// All earlier writes are visible, to the host too, before later ones. A thread sanitizer knows no
/// fences, and g++ warns of them.
inline void __threadfence_system() {
#if defined(__SANITIZE_THREAD__)
  static unsigned fences = 0;
  __atomic_fetch_add(&fences, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
