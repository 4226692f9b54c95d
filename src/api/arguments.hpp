// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/communicator.hpp"
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
void check_stream(sparsecollStream_t stream);
/// Neither NULL nor empty.
void check_path(const char* path);

/// "x", or "x.count": put together only when an error names it.
struct ArgumentName {
  ArgumentName(const char* argument, const char* member = "")
      : argument(argument), member(member) {}
  const char* argument;
  const char* member;
};

/// `count` values of `value_size` bytes at `at`: their size fits, NULL only when there are none,
/// aligned.
void check_array(const ArgumentName& name, const void* at, uint64_t count, size_t value_size);
/// Memory of the caller's.
struct Place {
  const char* name;
  const void* at;
  size_t bytes;
};
bool overlap(const Place& a, const Place& b);
/// The two are the same place (where `same` allows that) or do not touch.
void check_overlap(const Place& a, const Place& b, bool same);

/// The residual behind a handle, null for NULL; of this communicator, count and type.
std::shared_ptr<Residual> check_residual(sparsecollResidual_t handle, const Communicator& owner,
                                         uint64_t count, DataType type);

/// Indices of this type reach all of `count`.
void check_reach(const ArgumentName& name, uint64_t count, IndexType index);

/// The struct itself: initialised, types known, arrays there for `capacity` entries, index type
/// wide enough for count.
void check_sparse(const char* name, const sparsecollSparse_t* sparse);
/// Its entries: nnz within capacity, indices strictly rising below count.
void check_entries(const char* name, const sparsecollSparse_t& sparse, Arena& arena);

/// A user's vector as the kernels see it; the count lives in the arena.
SparseSpan span_of(const sparsecollSparse_t& sparse, Kernels& kernels);
/// Its arrays as a place to write to.
SparseBuffer buffer_of(const sparsecollSparse_t& sparse, Kernels& kernels);

}  // namespace sparsecoll
