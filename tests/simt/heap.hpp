// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

namespace simt {

/// Memory that can be touched between open() and close() only, and is full of 0xcd wherever nobody
/// has written. Ends the program when somebody wrote where nothing is allocated.
class Heap {
 public:
  Heap();

  /// First fit; null: none.
  void* allocate(size_t bytes);
  void release(void* pointer);
  void open();
  void close();

  bool owns(const void* pointer) const;
  /// Whether all of it is in one allocation.
  bool holds(const void* pointer, size_t bytes) const;

 private:
  struct Used {
    size_t size;   ///< with the border behind it
    size_t bytes;  ///< as asked for
  };

  size_t offset_of(const void* pointer) const;
  /// Ends the program unless nobody has written to [begin, end).
  void check_untouched(size_t begin, size_t end, const char* complaint) const;
  void join_with_next(std::map<size_t, size_t>::iterator at);

  char* begin_;
  bool open_ = false;
  size_t ever_used_ = 0;  ///< all before it is full of 0xcd where it is free
  std::map<size_t, size_t> free_;
  std::map<size_t, Used> used_;
};

}  // namespace simt
