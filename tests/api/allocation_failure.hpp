// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll::unit {

/// What `new` gives to this thread. A program that links allocation_failure.cpp has these for all
/// of its code.
struct AllocationFailures {
  size_t fails_at = 0;   ///< the n-th allocation fails, 1 = the next one; 0 = none
  bool lasting = false;  ///< and so do all after it
};

void begin_allocation_failures(const AllocationFailures& failures) noexcept;
/// Every allocation of this thread succeeds again; how many it asked for since the beginning.
size_t end_allocation_failures() noexcept;

}  // namespace sparsecoll::unit
