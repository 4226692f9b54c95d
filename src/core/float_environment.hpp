// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __x86_64__
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace sparsecoll {

/// Sets the default rounding, traps and treatment of subnormals while it exists, so that every rank
/// computes the same bits. Then restores the caller's.
class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#ifdef __x86_64__
  // SSE computes float and double. <cfenv> would also set the control word of the x87, which this
  // library does not use, and would take a tenth of the time of a small call.
  FloatEnvironment() : callers_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FloatEnvironment() { _mm_setcsr(callers_); }

 private:
  /// round to nearest, no traps, subnormals kept
  static constexpr unsigned kDefault = 0x1f80;
  const unsigned callers_;
#else
  FloatEnvironment() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&callers_); }

 private:
  std::fenv_t callers_;
#endif
};

}  // namespace sparsecoll
