// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts what the program has on the heap. A program that links heap_count.cpp allocates through
// it: its own code, the library, the C and the C++ library.
//
// The counts are exact, other than mallinfo2(), which counts blocks that a thread has freed and
// keeps for its next allocation as in use. How many these are depends on the scheduler.

#include <cstddef>

namespace sparsecoll::unit {

struct HeapCount {
  size_t blocks = 0;
  size_t bytes = 0;  ///< as they were asked for
  bool operator==(const HeapCount&) const = default;
};

/// Returns what all threads have allocated and not freed. With a sanitizer, which brings its own
/// allocator, it returns zeros.
HeapCount heap_count();

}  // namespace sparsecoll::unit
