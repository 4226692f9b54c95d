// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The functions without communication: sparsecollTopk, sparsecollScatter, sparsecollScatterAt and
// sparsecollFetch.
#include <optional>

#include "api/operation.hpp"
#include "api/output.hpp"
#include "api/sharding.hpp"

namespace sparsecoll {

namespace {

struct TopkArguments {
  const void* dense;
  size_t count;
  size_t k;
  int datatype;
  sparsecollResidual_t residual;
  sparsecollSparse_t* out;

  size_t most() const { return std::min(k, count); }
  size_t block_size() const { return out ? block_size_of(*out) : 1; }
  size_t values() const { return values_of(count, block_size()); }

  DataType check(int device) const {
    const DataType type = check_float_type(datatype);
    check_array("dense", dense, values(), size_of(type));
    sparsecollSparse_t expected = SPARSECOLL_SPARSE_INITIALIZER;
    expected.datatype = datatype;
    expected.indexType = out ? out->indexType : 0;
    expected.blockSize = block_size();
    check_output("out", out, {expected, device});
    check_reach("count", count, static_cast<IndexType>(out->indexType));
    if (out->capacity < most())
      fail(sparsecollInvalidArgument, "out.capacity: expected at least min(k, count) = ", most(),
           ", got ", out->capacity);
    for (const ByteRange& place : byte_ranges("out.indices", "out.values", *out))
      check_overlap({"dense", dense, values() * size_of(type)}, place, false);
    return type;
  }

  void run(Communicator& communicator, const ExecutionContext& context) const {
    const DataType type = check(context.device());
    const auto feedback =
        check_residual(residual, communicator, {values(), type, context.device()});
    check_rule(feedback.get(), false);
    Kernels& kernels =
        context.kernels(communicator, type, static_cast<IndexType>(out->indexType), block_size());
    if (feedback) feedback->prepare_update(communicator.agreed());
    const SparseBuffer result = buffer_of(*out, kernels);
    const bool direct = accumulation(type) == type;
    const SparseBuffer selected = direct ? result : kernels.sparse(most());
    kernels.accumulate_select({dense, count, feedback ? feedback->view() : ResidualView{}}, most(),
                              selected);
    const size_t nnz = out->nnzOnDevice ? most() : kernels.read(selected.nnz);
    if (!direct) kernels.deliver(selected.span(), 1, result);
    out->count = count;
    out->nnz = nnz;
    if (feedback) feedback->commit_after(kernels, communicator.running_call());
  }
};

/// The part of a vector that sparsecollScatterAt() writes.
struct Part {
  size_t offset;
  size_t length;

  Region region(size_t count) const {
    if (offset > count)
      fail(sparsecollInvalidArgument, "offset: expected at most in.count = ", count, ", got ",
           offset);
    if (length > count - offset)
      fail(sparsecollInvalidArgument,
           "length: expected at most in.count - offset = ", count - offset, ", got ", length);
    return {offset, offset + length};
  }
};

struct ScatterArguments {
  const sparsecollSparse_t* in;
  void* dense;
  std::optional<Part> part;  ///< none: it writes the whole vector

  void run(Communicator& communicator, const ExecutionContext& context) const {
    check_sparse("in", in, context.device());
    const DataType type = check_float_type(in->datatype);
    const Region region = part ? part->region(in->count) : Region{0, in->count};
    const size_t values = values_of(region.length(), block_size_of(*in));
    check_array("dense", dense, values, size_of(type));
    for (const ByteRange& place : byte_ranges("in.indices", "in.values", *in))
      check_overlap({"dense", dense, values * size_of(type)}, place, false);
    Kernels& kernels = context.kernels(communicator, type, static_cast<IndexType>(in->indexType),
                                       block_size_of(*in));
    check_entries("in", *in, region, kernels);
    kernels.scatter(kernels.widened(span_of(*in, kernels)), 1, region, dense);
  }
};

sparsecollResult_t submit(const char* name, const ScatterArguments& call, sparsecollComm_t comm,
                          sparsecollStream_t stream) {
  const Buffers buffers = Buffers({{"dense", call.dense}}, stream).add("in", call.in);
  return submit_local(name, comm, buffers,
                      [call](Communicator& communicator, const ExecutionContext& context) {
                        call.run(communicator, context);
                      });
}

void fetch(sparsecollSparse_t* recv, size_t* recvcounts, Communicator& communicator,
           const ExecutionContext& context) {
  const PendingResult& pending_result = communicator.pending_results().find(recv);
  if (recvcounts && pending_result.from.empty())
    fail(sparsecollInvalidArgument, "recvcounts: expected NULL after any verb but sparseAlltoall, ",
         "got ", static_cast<const void*>(recvcounts));
  check_array("recvcounts", recvcounts, recvcounts ? pending_result.from.size() : 0,
              sizeof(size_t));
  sparsecollSparse_t kept = SPARSECOLL_SPARSE_INITIALIZER;
  kept.datatype = static_cast<int>(pending_result.data_type);
  kept.indexType = static_cast<int>(pending_result.index_type);
  kept.blockSize = pending_result.block_size;
  check_output("recv", recv, {kept, context.device()});
  if (context.device() != pending_result.device && recv->capacity > 0)
    fail(sparsecollInvalidArgument, "recv: expected ", name_of_memory(pending_result.device),
         ", where the result is, got ", name_of_memory(context.device()));
  check_on_host("recvcounts", recvcounts);
  const bool fits = recv->capacity >= pending_result.nnz;
  if (context.device() == pending_result.device) {
    Kernels& kernels =
        context.kernels(communicator, pending_result.data_type, pending_result.index_type);
    kernels.set_count(buffer_of(*recv, kernels).nnz, fits ? pending_result.nnz : 0);
    if (fits) {
      kernels.copy(pending_result.indices.data(),
                   pending_result.nnz * size_of(pending_result.index_type), recv->indices);
      kernels.copy(pending_result.values.data(), pending_result.value_bytes(), recv->values);
    }
  }
  if (recvcounts) std::copy(pending_result.from.begin(), pending_result.from.end(), recvcounts);
  recv->count = pending_result.count;
  recv->needed = pending_result.nnz;
  recv->nnz = fits ? pending_result.nnz : 0;
  if (!fits)
    fail(sparsecollTruncated, "recv.capacity: expected at least ", pending_result.nnz, ", got ",
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
  const TopkArguments call{dense, count, k, datatype, residual, out};
  return submit_local("sparsecollTopk", comm, buffers,
                      [call](Communicator& communicator, const ExecutionContext& context) {
                        call.run(communicator, context);
                      });
}

sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                     sparsecollComm_t comm, sparsecollStream_t stream) {
  return submit("sparsecollScatter", {in, dense, {}}, comm, stream);
}

sparsecollResult_t sparsecollScatterAt(const sparsecollSparse_t* in, void* dense, size_t offset,
                                       size_t length, sparsecollComm_t comm,
                                       sparsecollStream_t stream) {
  return submit("sparsecollScatterAt", {in, dense, Part{offset, length}}, comm, stream);
}

sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                   sparsecollComm_t comm, sparsecollStream_t stream) {
  return on_communicator("sparsecollFetch", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    const Workspace workspace(communicator.backends());
    ExecutionContext context;
    context.enter(communicator, Buffers({}, stream).add("recv", recv));
    fetch(recv, recvcounts, communicator, context);
    return sparsecollSuccess;
  });
}
