// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The local pieces: sparsecollTopk, sparsecollScatter, sparsecollFetch, and results that wait for
// it.
#include "api/operation.hpp"
#include "api/output.hpp"

namespace sparsecoll {

void check_output(const char* name, const sparsecollSparse_t* out, const OutputFormat& format) {
  if (!out) fail(sparsecollInvalidArgument, name, ": expected a sparse vector, got NULL");
  sparsecollSparse_t with_count = *out;  // count is ours to write
  with_count.count = 0;
  check_sparse(name, &with_count, format.device);
  if (out->datatype != format.sparse.datatype)
    fail(sparsecollInvalidArgument, name, ".datatype: expected ",
         name_of(static_cast<DataType>(format.sparse.datatype)), ", got ",
         name_of(static_cast<DataType>(out->datatype)));
  if (out->indexType != format.sparse.indexType)
    fail(sparsecollInvalidArgument, name, ".indexType: expected ", format.sparse.indexType,
         ", got ", out->indexType, " (sparsecollIndex32 is 0, sparsecollIndex64 is 1)");
}

std::array<ByteRange, 3> byte_ranges(const char* indices, const char* values,
                                     const sparsecollSparse_t& sparse) {
  return {ByteRange{indices, sparse.indices,
                    sparse.capacity * size_of(static_cast<IndexType>(sparse.indexType))},
          ByteRange{values, sparse.values,
                    sparse.capacity * size_of(static_cast<DataType>(sparse.datatype))},
          ByteRange{"nnzOnDevice", sparse.nnzOnDevice, sparse.nnzOnDevice ? sizeof(size_t) : 0}};
}

std::unique_ptr<PendingResult> make_pending_result(Communicator& communicator, size_t nnz,
                                                   const OutputFormat& format) {
  auto pending_result = std::make_unique<PendingResult>();
  pending_result->nnz = nnz;
  pending_result->count = format.sparse.count;
  pending_result->data_type = static_cast<DataType>(format.sparse.datatype);
  pending_result->index_type = static_cast<IndexType>(format.sparse.indexType);
  pending_result->device = format.device;
  Memory& memory = *communicator.memory_at(format.device);
  pending_result->indices = Block(memory, nnz * size_of(pending_result->index_type));
  pending_result->values = Block(memory, nnz * size_of(pending_result->data_type));
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
  communicator.pending_results().reserve(communicator.pending_results().size() + 1);
  kernels.set_count(own.nnz, 0);
  return pending_result_buffer(*pending_result_, kernels);
}

void Output::finish(Communicator& communicator, uint64_t count) {
  recv_->count = count;
  recv_->nnz = fits() ? nnz_ : 0;
  recv_->needed = nnz_;
  if (pending_result_) communicator.pending_results().push_back(std::move(pending_result_));
  if (!fits())
    fail(sparsecollTruncated, "recv.capacity: expected at least ", nnz_, ", got ", recv_->capacity,
         "; the result is kept for sparsecollFetch");
}

namespace {

struct TopkCall {
  const void* dense;
  size_t count;
  size_t k;
  int datatype;
  sparsecollResidual_t residual;
  sparsecollSparse_t* out;

  size_t most() const { return std::min(k, count); }

  DataType check(int device) const {
    const DataType type = check_float_type(datatype);
    check_array("dense", dense, count, size_of(type));
    sparsecollSparse_t expected = SPARSECOLL_SPARSE_INITIALIZER;
    expected.datatype = datatype;
    expected.indexType = out ? out->indexType : 0;
    check_output("out", out, {expected, device});
    check_reach("count", count, static_cast<IndexType>(out->indexType));
    if (out->capacity < most())
      fail(sparsecollInvalidArgument, "out.capacity: expected at least min(k, count) = ", most(),
           ", got ", out->capacity);
    for (const ByteRange& place : byte_ranges("out.indices", "out.values", *out))
      check_overlap({"dense", dense, count * size_of(type)}, place, false);
    return type;
  }

  void run(Communicator& communicator, const ExecutionContext& context) const {
    const DataType type = check(context.device());
    const auto feedback = check_residual(residual, communicator, {count, type, context.device()});
    Kernels& kernels = context.kernels(communicator, type, static_cast<IndexType>(out->indexType));
    const SparseBuffer result = buffer_of(*out, kernels);
    const bool direct = accumulation(type) == type;
    const SparseBuffer selected = direct ? result : kernels.sparse(most());
    kernels.accumulate_select({dense, count, feedback ? feedback->view() : ResidualView{}}, most(),
                              selected);
    const size_t nnz = out->nnzOnDevice ? most() : kernels.read(selected.nnz);
    if (!direct) kernels.deliver(selected.span(), 1, result);
    out->count = count;
    out->nnz = nnz;
    if (feedback) feedback->commit(kernels);
  }
};

void scatter(const sparsecollSparse_t* in, void* dense, Communicator& communicator,
             const ExecutionContext& context) {
  check_sparse("in", in, context.device());
  const DataType type = check_float_type(in->datatype);
  check_array("dense", dense, in->count, size_of(type));
  for (const ByteRange& place : byte_ranges("in.indices", "in.values", *in))
    check_overlap({"dense", dense, in->count * size_of(type)}, place, false);
  Kernels& kernels = context.kernels(communicator, type, static_cast<IndexType>(in->indexType));
  check_entries("in", *in, kernels);
  kernels.scatter(kernels.widened(span_of(*in, kernels)), 1, dense, in->count);
}

/// What is kept for this struct; after a call that was no group, any struct will do.
const PendingResult& find_pending_result(const sparsecollSparse_t* recv,
                                         Communicator& communicator) {
  const auto& pending_results = communicator.pending_results();
  if (pending_results.empty())
    fail(sparsecollInvalidUsage,
         "nothing to fetch: the last verb did not return sparsecollTruncated");
  for (const auto& each : pending_results)
    if (each->recv == recv || !communicator.last_was_group()) return *each;
  fail(sparsecollInvalidArgument,
       "recv: expected a struct that a call of the group was given, got ",
       static_cast<const void*>(recv));
}

void fetch(sparsecollSparse_t* recv, size_t* recvcounts, Communicator& communicator,
           const ExecutionContext& context) {
  const PendingResult* pending_result = &find_pending_result(recv, communicator);
  if (recvcounts && pending_result->from.empty())
    fail(sparsecollInvalidArgument, "recvcounts: expected NULL after any verb but sparseAlltoall, ",
         "got ", static_cast<const void*>(recvcounts));
  check_array("recvcounts", recvcounts, recvcounts ? pending_result->from.size() : 0,
              sizeof(size_t));
  sparsecollSparse_t kept = SPARSECOLL_SPARSE_INITIALIZER;
  kept.datatype = static_cast<int>(pending_result->data_type);
  kept.indexType = static_cast<int>(pending_result->index_type);
  check_output("recv", recv, {kept, context.device()});
  if (context.device() != pending_result->device && recv->capacity > 0)
    fail(sparsecollInvalidArgument, "recv: expected ", name_of_memory(pending_result->device),
         ", where the result is, got ", name_of_memory(context.device()));
  check_on_host("recvcounts", recvcounts);
  const bool fits = recv->capacity >= pending_result->nnz;
  if (context.device() == pending_result->device) {
    Kernels& kernels =
        context.kernels(communicator, pending_result->data_type, pending_result->index_type);
    kernels.set_count(buffer_of(*recv, kernels).nnz, fits ? pending_result->nnz : 0);
    if (fits) {
      kernels.copy(pending_result->indices.data(),
                   pending_result->nnz * size_of(pending_result->index_type), recv->indices);
      kernels.copy(pending_result->values.data(),
                   pending_result->nnz * size_of(pending_result->data_type), recv->values);
    }
  }
  if (recvcounts) std::copy(pending_result->from.begin(), pending_result->from.end(), recvcounts);
  recv->count = pending_result->count;
  recv->needed = pending_result->nnz;
  recv->nnz = fits ? pending_result->nnz : 0;
  if (!fits)
    fail(sparsecollTruncated, "recv.capacity: expected at least ", pending_result->nnz, ", got ",
         recv->capacity);
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollTopk(const void* dense, size_t count, size_t k,
                                  sparsecollDataType_t datatype, sparsecollResidual_t residual,
                                  sparsecollSparse_t* out, sparsecollComm_t comm,
                                  sparsecollStream_t stream) {
  const Buffers buffers = Buffers({{"dense", dense}}, stream).add("out", out);
  const TopkCall call{dense, count, k, datatype, residual, out};
  return submit_local("sparsecollTopk", comm, buffers,
                      [call](Communicator& communicator, const ExecutionContext& context) {
                        call.run(communicator, context);
                      });
}

sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                     sparsecollComm_t comm, sparsecollStream_t stream) {
  const Buffers buffers = Buffers({{"dense", dense}}, stream).add("in", in);
  return submit_local("sparsecollScatter", comm, buffers,
                      [in, dense](Communicator& communicator, const ExecutionContext& context) {
                        scatter(in, dense, communicator, context);
                      });
}

sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                   sparsecollComm_t comm, sparsecollStream_t stream) {
  return on_communicator("sparsecollFetch", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    const Workspace workspace(communicator);
    ExecutionContext context;
    context.enter(communicator, Buffers({}, stream).add("recv", recv));
    fetch(recv, recvcounts, communicator, context);
    return sparsecollSuccess;
  });
}
