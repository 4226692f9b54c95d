// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __x86_64__
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace sparsecoll {

/// Default rounding, traps and treatment of subnormals while it lives, whatever the caller set:
/// every rank must compute the same bits.
class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#ifdef __x86_64__
  // float and double are SSE's. <cfenv> also sets the x87's control word, which nothing here uses,
  // and takes a tenth of a small call for it.
  FloatEnvironment() : callers_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FloatEnvironment() { _mm_setcsr(callers_); }

 private:
  /// To nearest, nothing traps, subnormals as they are.
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
