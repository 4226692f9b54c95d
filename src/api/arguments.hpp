// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/communicator.hpp"
#include "api/execution_context.hpp"
#include "api/residual.hpp"

namespace sparsecoll {

// Checks of arguments. Each throws InvalidArgument with the name of the argument, what was expected
// and what it got.

DataType check_type(int datatype);
/// Checks a datatype of a verb that selects or rounds: integers are refused.
DataType check_float_type(int datatype);
/// Checks that a call with integers neither selects (k) nor averages (op).
void check_exact_sum(DataType type, size_t k, int op);
IndexType check_index_type(int index_type);
/// Returns the number by which sums are divided.
int check_op(int op, int ranks);
/// Checks that a path is neither NULL nor empty.
void check_path(const char* path);
/// Checks the memory in which a state is saved: it is the host's, or NULL, and `bytes` is not
/// NULL.
void check_state_target(const void* buffer, const size_t* bytes);
/// Checks a state in memory, which must be the host's, and returns its bytes.
ConstBytes state_in_memory(const void* buffer, size_t bytes);

/// Checks an array of `count` values of `value_size` bytes: its size fits into memory, it is
/// aligned, and it is NULL only if it is empty.
void check_array(const ArgumentName& name, const void* at, uint64_t count, size_t value_size);
/// A range of the caller's memory.
struct ByteRange {
  const char* name;
  const void* at;
  size_t bytes;
};
bool overlap(const ByteRange& a, const ByteRange& b);
/// Checks that two ranges do not overlap. `same` allows identical ranges.
void check_overlap(const ByteRange& a, const ByteRange& b, bool same);

/// The tensor of a call, for checking the residual that belongs to it.
struct CallTensor {
  uint64_t count;
  DataType type;
  int device;  ///< device of the call's buffers, or kHost
  bool captured = false;
};
/// Returns the residual of a handle; null for NULL. It must belong to this communicator and fit
/// this tensor. A residual that no call has used moves to the buffers' device.
std::shared_ptr<Residual> check_residual(sparsecollResidual_t handle, Communicator& owner,
                                         const CallTensor& tensor);

/// Checks that indices of this type can address all of `count` values.
void check_reach(const ArgumentName& name, uint64_t count, IndexType index);

/// Returns the number of values of an entry of a caller's vector.
inline size_t block_size_of(const sparsecollSparse_t& sparse) {
  return sparse.blockSize == 0 ? 1 : sparse.blockSize;
}
/// Returns how many values `entries` entries have; the largest number if there is none so large.
constexpr size_t values_of(size_t entries, size_t block_size) {
  return entries > static_cast<size_t>(-1) / block_size ? static_cast<size_t>(-1)
                                                        : entries * block_size;
}
/// Throws InvalidArgument if the call selects k blocks and its result is not defined for this
/// configuration: with reused thresholds, or with the paper's residual rule if the call prunes
/// partial sums, as gTop-k does (`prunes`).
void check_block_selection(const sparsecollSparse_t& sparse, size_t k,
                           const sparsecollConfig_t& config, bool prunes);

/// Checks the struct of a sparse vector: it is initialized, its types are known, it has arrays for
/// `capacity` entries, and its index type can address `count`. Only arrays on a device may have
/// their count there, and only arrays on the host may have blocks.
void check_sparse(const char* name, const sparsecollSparse_t* sparse, int device);
/// Checks the entries of a sparse vector: nnz is within capacity, and indices rise strictly and are
/// below count. `kernels` have its types and its backend.
void check_entries(const char* name, const sparsecollSparse_t& sparse, Kernels& kernels);
/// Checks the entries as above, and that all of them lie within a region.
void check_entries(const char* name, const sparsecollSparse_t& sparse, const Region& region,
                   Kernels& kernels);

/// Returns a view of a user's vector for kernels. Its count is copied to the workspace unless the
/// user has it on the device.
SparseSpan span_of(const sparsecollSparse_t& sparse, Kernels& kernels);
/// Returns the arrays of a user's vector for kernels to write to.
SparseBuffer buffer_of(const sparsecollSparse_t& sparse, Kernels& kernels);

}  // namespace sparsecoll
