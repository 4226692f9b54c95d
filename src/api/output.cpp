// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/output.hpp"

namespace sparsecoll {

void check_output(const char* name, const sparsecollSparse_t* out, const OutputFormat& format) {
  if (!out) fail(sparsecollInvalidArgument, name, ": expected a sparse vector, got NULL");
  sparsecollSparse_t with_count = *out;  // `count` is an output, so its value is not checked
  with_count.count = 0;
  check_sparse(name, &with_count, format.device);
  if (out->datatype != format.sparse.datatype)
    fail(sparsecollInvalidArgument, name, ".datatype: expected ",
         name_of(static_cast<DataType>(format.sparse.datatype)), ", got ",
         name_of(static_cast<DataType>(out->datatype)));
  if (out->indexType != format.sparse.indexType)
    fail(sparsecollInvalidArgument, name, ".indexType: expected ", format.sparse.indexType,
         ", got ", out->indexType, " (sparsecollIndex32 is 0, sparsecollIndex64 is 1)");
  if (block_size_of(*out) != block_size_of(format.sparse))
    fail(sparsecollInvalidArgument, name, ".blockSize: expected ", block_size_of(format.sparse),
         ", got ", block_size_of(*out));
}

std::array<ByteRange, 3> byte_ranges(const char* indices, const char* values,
                                     const sparsecollSparse_t& sparse) {
  return {ByteRange{indices, sparse.indices,
                    sparse.capacity * size_of(static_cast<IndexType>(sparse.indexType))},
          ByteRange{values, sparse.values,
                    sparse.capacity * block_size_of(sparse) *
                        size_of(static_cast<DataType>(sparse.datatype))},
          ByteRange{"nnzOnDevice", sparse.nnzOnDevice, sparse.nnzOnDevice ? sizeof(size_t) : 0}};
}

std::unique_ptr<PendingResult> make_pending_result(Communicator& communicator, size_t nnz,
                                                   const OutputFormat& format) {
  auto pending_result = std::make_unique<PendingResult>();
  pending_result->nnz = nnz;
  pending_result->count = format.sparse.count;
  pending_result->data_type = static_cast<DataType>(format.sparse.datatype);
  pending_result->index_type = static_cast<IndexType>(format.sparse.indexType);
  pending_result->block_size = block_size_of(format.sparse);
  pending_result->device = format.device;
  Memory& memory = *communicator.backends().memory(format.device);
  pending_result->indices = Block(memory, nnz * size_of(pending_result->index_type));
  pending_result->values = Block(memory, pending_result->value_bytes());
  return pending_result;
}

SparseBuffer pending_result_buffer(const PendingResult& pending_result, Kernels& kernels) {
  return {pending_result.indices.data(), pending_result.values.data(), kernels.counts(1),
          pending_result.nnz};
}

SparseBuffer Output::prepare(Communicator& communicator, const OutputFormat& format,
                             Kernels& kernels) {
  const SparseBuffer own = buffer_of(*recv_, kernels);
  if (fits()) return own;
  pending_result_ = make_pending_result(communicator, nnz_, format);
  pending_result_->recv = recv_;
  communicator.pending_results().reserve();
  kernels.set_count(own.nnz, 0);
  return pending_result_buffer(*pending_result_, kernels);
}

void Output::finish(Communicator& communicator, uint64_t count) {
  recv_->count = count;
  recv_->nnz = fits() ? nnz_ : 0;
  recv_->needed = nnz_;
  if (pending_result_) communicator.pending_results().add(std::move(pending_result_));
  if (!fits())
    fail(sparsecollTruncated, "recv.capacity: expected at least ", nnz_, ", got ", recv_->capacity,
         "; the result is kept for sparsecollFetch");
}

}  // namespace sparsecoll
