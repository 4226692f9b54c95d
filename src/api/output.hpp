// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "api/arguments.hpp"

namespace sparsecoll {

/// What an output has in common with its input: count, types and place.
struct OutputFormat {
  const sparsecollSparse_t& sparse;
  int device;
};

/// A caller's output vector: sound, and of the types of `like`.
void check_output(const char* name, const sparsecollSparse_t* out, const OutputFormat& format);

/// The two arrays of a vector, as far as its capacity goes, and its count where it has one on a
/// device.
std::array<ByteRange, 3> byte_ranges(const char* indices, const char* values,
                                     const sparsecollSparse_t& sparse);

/// Room for a result of `nnz` entries.
std::unique_ptr<PendingResult> make_pending_result(Communicator& communicator, size_t nnz,
                                                   const OutputFormat& format);
SparseBuffer pending_result_buffer(const PendingResult& pending_result, Kernels& kernels);

/// A verb's result of `nnz` entries goes to the caller's vector, or to a stash where it is too
/// small.
class Output {
 public:
  Output(sparsecollSparse_t* recv, size_t nnz) : recv_(recv), nnz_(nnz) {}

  bool fits() const { return nnz_ <= recv_->capacity; }
  /// Takes memory if it must. Nothing fails after it but for finish()'s message that there was too
  /// little room.
  SparseBuffer prepare(Communicator& communicator, const OutputFormat& format, Kernels& kernels);
  PendingResult* pending_result() const { return pending_result_.get(); }
  /// The struct's numbers and the stash, once the buffer is written. Throws Truncated.
  void finish(Communicator& communicator, uint64_t count);

 private:
  sparsecollSparse_t* recv_;
  size_t nnz_;
  std::unique_ptr<PendingResult> pending_result_;
};

}  // namespace sparsecoll
