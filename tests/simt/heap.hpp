// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

namespace simt {

/// Memory that can be accessed between open() and close() only. It is filled with 0xcd until it is
/// written. Ends the program if memory outside of allocations was written.
class Heap {
 public:
  Heap();

  /// Returns the first free memory that fits, or null if there is none.
  void* allocate(size_t bytes);
  void release(void* pointer);
  void open();
  void close();

  bool owns(const void* pointer) const;
  /// Returns whether all of the range is in one allocation.
  bool holds(const void* pointer, size_t bytes) const;

 private:
  struct Used {
    size_t size;   ///< including the unused bytes behind it
    size_t bytes;  ///< as asked for
  };

  size_t offset_of(const void* pointer) const;
  /// Ends the program if [begin, end) was written.
  void check_untouched(size_t begin, size_t end, const char* complaint) const;
  void join_with_next(std::map<size_t, size_t>::iterator at);

  char* begin_;
  bool open_ = false;
  size_t ever_used_ = 0;  ///< free memory in front of this is filled with 0xcd
  std::map<size_t, size_t> free_;
  std::map<size_t, Used> used_;
};

}  // namespace simt
