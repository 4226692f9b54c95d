// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/communicator.hpp"
#include "api/execution_context.hpp"
#include "api/residual.hpp"

namespace sparsecoll {

// Checks of arguments. Each throws InvalidArgument that names the argument, what was expected and
// what it got.

DataType check_type(int datatype);
/// For what selects or rounds: no integers.
DataType check_float_type(int datatype);
/// Integers are only added up, all of them.
void check_exact_sum(DataType type, size_t k, int op);
IndexType check_index_type(int index_type);
/// The number to divide sums by.
int check_op(int op, int ranks);
/// Neither NULL nor empty.
void check_path(const char* path);

/// `count` values of `value_size` bytes at `at`: their size fits, NULL only when there are none,
/// aligned.
void check_array(const ArgumentName& name, const void* at, uint64_t count, size_t value_size);
/// Memory of the caller's.
struct ByteRange {
  const char* name;
  const void* at;
  size_t bytes;
};
bool overlap(const ByteRange& a, const ByteRange& b);
/// The two are the same place (where `same` allows that) or do not touch.
void check_overlap(const ByteRange& a, const ByteRange& b, bool same);

/// What a call knows of the tensor whose residual it is given.
struct CallTensor {
  uint64_t count;
  DataType type;
  int device;  ///< that its buffers are on
  bool captured = false;
};
/// The residual behind a handle, null for NULL; of this communicator, for this tensor. Where it was
/// not used yet, it goes where the buffers are.
std::shared_ptr<Residual> check_residual(sparsecollResidual_t handle, Communicator& owner,
                                         const CallTensor& tensor);

/// Indices of this type reach all of `count`.
void check_reach(const ArgumentName& name, uint64_t count, IndexType index);

/// The struct itself: initialised, types known, arrays there for `capacity` entries, index type
/// wide enough for count; a count on the device only for arrays there.
void check_sparse(const char* name, const sparsecollSparse_t* sparse, int device);
/// Its entries: nnz within capacity, indices strictly rising below count. The kernels are those of
/// its types and place.
void check_entries(const char* name, const sparsecollSparse_t& sparse, Kernels& kernels);

/// A user's vector as the kernels see it; the count lives in workspace, or where the user has it.
SparseSpan span_of(const sparsecollSparse_t& sparse, Kernels& kernels);
/// Its arrays as a place to write to.
SparseBuffer buffer_of(const sparsecollSparse_t& sparse, Kernels& kernels);

}  // namespace sparsecoll
