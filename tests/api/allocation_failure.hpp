// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll::unit {

/// The allocations by `new` that fail in this thread. A program that links allocation_failure.cpp
/// uses its operator new in all code.
struct AllocationFailures {
  size_t fails_at = 0;   ///< the n-th allocation fails, 1 = the next one; 0 = none
  bool lasting = false;  ///< all later allocations fail, too
};

/// Starts to count the allocations of this thread, and makes some fail.
void begin_allocation_failures(const AllocationFailures& failures) noexcept;
/// Stops the failures. Returns the number of allocations since begin_allocation_failures().
size_t end_allocation_failures() noexcept;

}  // namespace sparsecoll::unit
