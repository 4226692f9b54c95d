// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/memory.hpp"
#include "core/types.hpp"
#include "kernels/device.hpp"
#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// A result that did not fit into the caller's vector, kept for sparsecollFetch().
struct PendingResult {
  const sparsecollSparse_t* recv = nullptr;  ///< the caller's vector; only its address is used
  Block indices;
  Block values;
  size_t nnz = 0;
  std::vector<size_t> from;  ///< sparseAlltoall: number of entries from each rank; else empty
  uint64_t count = 0;        ///< length of the dense vector
  DataType data_type = DataType::float32;
  IndexType index_type = IndexType::index32;
  size_t block_size = 1;
  int device = kHost;  ///< the device of `indices` and `values`

  size_t value_bytes() const { return nnz * block_size * size_of(data_type); }
};

/// The results of a communicator's last call that wait for sparsecollFetch(). The calls of a group
/// may leave several. Only the thread that is inside the communicator, or that of its queue, may
/// use it.
class PendingResults {
 public:
  /// Drops the results of the last call. `from_group` says whether the next call is a group. The
  /// result of a call that is no group can be fetched with any vector.
  void clear(bool from_group) {
    results_.clear();
    from_group_ = from_group;
  }
  /// Allocates the memory that the next add() needs.
  void reserve() { results_.reserve(results_.size() + 1); }
  void add(std::unique_ptr<PendingResult> result) { results_.push_back(std::move(result)); }
  /// Returns the result for this vector. Throws InvalidUsage if there are no results, and
  /// InvalidArgument if a group left results but none for this vector.
  const PendingResult& find(const sparsecollSparse_t* recv) const;

 private:
  std::vector<std::unique_ptr<PendingResult>> results_;
  bool from_group_ = false;
};

}  // namespace sparsecoll
