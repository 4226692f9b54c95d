// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "api/arguments.hpp"

namespace sparsecoll {

/// The properties that an output vector shares with the input: count, types, size of blocks and
/// backend.
struct OutputFormat {
  const sparsecollSparse_t& sparse;
  int device;
};

/// Checks a caller's output vector: its struct is valid, and its types and its size of blocks are
/// those of `format`.
void check_output(const char* name, const sparsecollSparse_t* out, const OutputFormat& format);

/// Returns the arrays of a vector up to its capacity, and its count if that is on a device.
std::array<ByteRange, 3> byte_ranges(const char* indices, const char* values,
                                     const sparsecollSparse_t& sparse);

/// Allocates memory for a result of `nnz` entries.
std::unique_ptr<PendingResult> make_pending_result(Communicator& communicator, size_t nnz,
                                                   const OutputFormat& format);
SparseBuffer pending_result_buffer(const PendingResult& pending_result, Kernels& kernels);

/// Delivers a verb's result of `nnz` entries to the caller's vector, or keeps it as a pending
/// result if the vector is too small.
class Output {
 public:
  Output(sparsecollSparse_t* recv, size_t nnz) : recv_(recv), nnz_(nnz) {}

  bool fits() const { return nnz_ <= recv_->capacity; }
  /// Returns the buffer to write to. Allocates it if necessary. Afterwards nothing fails, except
  /// that finish() may throw Truncated.
  SparseBuffer prepare(Communicator& communicator, const OutputFormat& format, Kernels& kernels);
  PendingResult* pending_result() const { return pending_result_.get(); }
  /// Sets nnz, count and needed of the struct, and keeps the pending result. Call it after the
  /// buffer was written. Throws Truncated if the vector is too small.
  void finish(Communicator& communicator, uint64_t count);

 private:
  sparsecollSparse_t* recv_;
  size_t nnz_;
  std::unique_ptr<PendingResult> pending_result_;
};

}  // namespace sparsecoll
