// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.hpp"

#include "api/handles.hpp"
#include "core/error.hpp"

namespace sparsecoll {

DataType check_type(int datatype) {
  const auto type = static_cast<DataType>(datatype);
  if (name_of(type)) return type;
  fail(sparsecollInvalidArgument,
       "datatype: expected a sparsecollDataType_t (2, 4, 6, 7, 8 or 9), got ", datatype);
}

DataType check_float_type(int datatype) {
  const DataType type = check_type(datatype);
  if (is_integer(type))
    fail(sparsecollInvalidArgument, "datatype: expected a floating-point type, got ", name_of(type),
         " (", datatype,
         "): integers are for the `v` verbs with SPARSECOLL_ALL and sparseAlltoall");
  return type;
}

void check_exact_sum(DataType type, size_t k, int op) {
  if (!is_integer(type)) return;
  if (k != kAll)
    fail(sparsecollInvalidArgument, "k: expected SPARSECOLL_ALL with ", name_of(type), ", got ", k);
  if (op != sparsecollSum)
    fail(sparsecollInvalidArgument, "op: expected sparsecollSum (0) with ", name_of(type), ", got ",
         op);
}

IndexType check_index_type(int index_type) {
  switch (static_cast<IndexType>(index_type)) {
    case IndexType::index32:
    case IndexType::index64:
      return static_cast<IndexType>(index_type);
  }
  fail(sparsecollInvalidArgument,
       "indexType: expected sparsecollIndex32 (0) or sparsecollIndex64 (1), got ", index_type);
}

int check_op(int op, int ranks) {
  if (op == sparsecollSum) return 1;
  if (op == sparsecollAvg) return ranks;
  fail(sparsecollInvalidArgument, "op: expected sparsecollSum (0) or sparsecollAvg (4), got ", op);
}

void check_path(const char* path) {
  if (!path || !*path)
    fail(sparsecollInvalidArgument, "path: expected the name of a file, got ",
         path ? "an empty string" : "NULL");
}

void check_state_target(const void* buffer, const size_t* bytes) {
  if (!bytes) fail(sparsecollInvalidArgument, "bytes: expected a pointer, got NULL");
  check_on_host("buffer", buffer);
}

ConstBytes state_in_memory(const void* buffer, size_t bytes) {
  if (!buffer) fail(sparsecollInvalidArgument, "buffer: expected a saved state, got NULL");
  check_on_host("buffer", buffer);
  return {static_cast<const std::byte*>(buffer), bytes};
}

void check_array(const ArgumentName& name, const void* at, uint64_t count, size_t value_size) {
  if (count > static_cast<size_t>(-1) / 2 / value_size)
    fail(sparsecollInvalidArgument, name, ": expected a size that fits into memory, got ", count,
         " values of ", value_size, " bytes");
  if (!at && count > 0)
    fail(sparsecollInvalidArgument, name, ": expected ", count, " values, got NULL");
  if (reinterpret_cast<uintptr_t>(at) % value_size != 0)
    fail(sparsecollInvalidArgument, name, ": expected an address aligned to ", value_size,
         " bytes, got ", at);
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  const auto first = reinterpret_cast<uintptr_t>(a.at), second = reinterpret_cast<uintptr_t>(b.at);
  return a.bytes > 0 && b.bytes > 0 && first < second + b.bytes && second < first + a.bytes;
}

void check_overlap(const ByteRange& a, const ByteRange& b, bool same) {
  if (overlap(a, b) && !(same && a.at == b.at))
    fail(sparsecollInvalidArgument, a.name, " and ", b.name, ": expected ",
         same ? "the same address or " : "", "memory that does not overlap, got ", a.at, " and ",
         b.at);
}

std::shared_ptr<Residual> check_residual(sparsecollResidual_t handle, Communicator& owner,
                                         const CallTensor& tensor) {
  if (!handle) return nullptr;
  std::shared_ptr<Residual> residual = residuals().find(handle);
  if (!residual)
    fail(sparsecollInvalidArgument,
         "residual: expected a residual or NULL, got a handle that is "
         "none or was destroyed");
  if (residual->owner().get() != &owner)
    fail(sparsecollInvalidArgument, "residual: expected one of this communicator, got another's");
  if (residual->count() != tensor.count)
    fail(sparsecollInvalidArgument, "residual: expected count ", tensor.count, ", got ",
         residual->count());
  if (residual->data_type() != tensor.type)
    fail(sparsecollInvalidArgument, "residual: expected datatype ", name_of(tensor.type), ", got ",
         name_of(residual->data_type()));
  if (residual->device() != tensor.device && residual->used())
    fail(sparsecollInvalidArgument, "residual: expected one in ", name_of_memory(tensor.device),
         ", where the buffers are, got one in ", name_of_memory(residual->device()),
         ", where its first call's were");
  if (tensor.captured) {
    // A graph must not contain the zeroing of new buffers: every launch would repeat
    // it.
    if (!residual->is_on(tensor.device))
      fail(sparsecollInvalidUsage,
           "residual: expected one that a call has used before a graph is captured, got a new one");
  }
  residual->move_to(tensor.device, owner);
  return residual;
}

void check_reach(const ArgumentName& name, uint64_t count, IndexType index) {
  if (index == IndexType::index32 && narrowest_index(count) != IndexType::index32)
    fail(sparsecollInvalidArgument, name,
         ": expected at most 4294967296 with sparsecollIndex32, got ", count);
}

void check_block_selection(const sparsecollSparse_t& sparse, size_t k,
                           const sparsecollConfig_t& config, bool prunes) {
  if (block_size_of(sparse) == 1 || k == kAll) return;
  if (prunes && config.residualRule == sparsecollResidualPaper)
    fail(sparsecollInvalidArgument,
         "residualRule: expected sparsecollResidualConserving with blocks ", "of ",
         sparse.blockSize, " values, got sparsecollResidualPaper");
  if (!prunes && config.selection == sparsecollSelectReuse)
    fail(sparsecollInvalidArgument, "selection: expected sparsecollSelectExact with blocks of ",
         sparse.blockSize, " values, got sparsecollSelectReuse");
}

void check_sparse(const char* name, const sparsecollSparse_t* sparse, int device) {
  const auto wrong = [name](const auto&... parts) {
    fail(sparsecollInvalidArgument, name, parts...);
  };
  if (!sparse) wrong(": expected a sparse vector, got NULL");
  if (sparse->size < sizeof *sparse)
    wrong(".size: expected ", sizeof *sparse, " (SPARSECOLL_SPARSE_INITIALIZER), got ",
          sparse->size);
  for (const void* reserved : sparse->reserved)
    if (reserved) wrong(".reserved: expected NULL, got ", reserved);
  if (sparse->nnzOnDevice && device == kHost)
    wrong(".nnzOnDevice: expected NULL with host memory, got ",
          static_cast<const void*>(sparse->nnzOnDevice));
  if (sparse->nnzOnDevice && device_of(sparse->nnzOnDevice) != device)
    wrong(".nnzOnDevice: expected ", name_of_memory(device), ", got ",
          name_of_memory(device_of(sparse->nnzOnDevice)));
  check_array({name, ".nnzOnDevice"}, sparse->nnzOnDevice, 0, sizeof(size_t));
  const size_t block_size = block_size_of(*sparse);
  if (block_size > static_cast<size_t>(-1) / 2 / sizeof(double))
    wrong(".blockSize: expected blocks that fit into memory, got ", block_size);
  const DataType type = check_type(sparse->datatype);
  const IndexType index = check_index_type(sparse->indexType);
  check_reach({name, ".count"}, sparse->count, index);
  check_array({name, ".indices"}, sparse->indices, sparse->capacity, size_of(index));
  check_array({name, ".values"}, sparse->values, values_of(sparse->capacity, block_size),
              size_of(type));
}

void check_entries(const char* name, const sparsecollSparse_t& sparse, Kernels& kernels) {
  check_entries(name, sparse, {0, sparse.count}, kernels);
}

void check_entries(const char* name, const sparsecollSparse_t& sparse, const Region& region,
                   Kernels& kernels) {
  if (sparse.nnz > sparse.capacity)
    fail(sparsecollInvalidArgument, name, ".nnz: expected at most the capacity ", sparse.capacity,
         ", got ", sparse.nnz);
  const SparseSpan entries = span_of(sparse, kernels);
  const size_t nnz = sparse.nnzOnDevice ? kernels.read(entries.nnz.at) : sparse.nnz;
  if (nnz > sparse.nnz)
    fail(sparsecollInvalidArgument, name, ".nnzOnDevice: expected at most nnz = ", sparse.nnz,
         ", got ", nnz);
  uint64_t* first_bad = kernels.counts(1);
  kernels.check_indices(entries, region, first_bad);
  const uint64_t bad = kernels.read(first_bad);
  if (bad == nnz) return;
  const std::string expected = region.begin == 0 && region.end == sparse.count
                                   ? text("below count ", sparse.count)
                                   : text("of the region from ", region.begin, " to ", region.end);
  fail(sparsecollInvalidArgument, name, ".indices: expected strictly increasing ones ", expected,
       ", got something else at entry ", bad);
}

SparseSpan span_of(const sparsecollSparse_t& sparse, Kernels& kernels) {
  static_assert(sizeof(size_t) == sizeof(uint64_t));
  const auto* nnz = reinterpret_cast<const uint64_t*>(sparse.nnzOnDevice);
  if (!nnz) {
    uint64_t* const own = kernels.counts(1);
    kernels.set_count(own, sparse.nnz);
    nnz = own;
  }
  // An empty vector may have no arrays, but a null index array would mean dense.
  static constexpr uint64_t kNothing = 0;
  return {sparse.indices ? sparse.indices : &kNothing, sparse.values, {sparse.nnz, nnz}};
}

SparseBuffer buffer_of(const sparsecollSparse_t& sparse, Kernels& kernels) {
  auto* const nnz = reinterpret_cast<uint64_t*>(sparse.nnzOnDevice);
  return {sparse.indices, sparse.values, nnz ? nnz : kernels.counts(1), sparse.capacity};
}

}  // namespace sparsecoll
