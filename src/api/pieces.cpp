// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The local pieces: sparsecollTopk, sparsecollScatter, sparsecollFetch, and results that wait for
// it.
#include <cstring>

#include "api/operation.hpp"
#include "api/stash.hpp"

namespace sparsecoll {

void check_output(const char* name, const sparsecollSparse_t* out, const sparsecollSparse_t& like) {
  if (!out) fail(sparsecollInvalidArgument, name, ": expected a sparse vector, got NULL");
  sparsecollSparse_t with_count = *out;  // count is ours to write
  with_count.count = 0;
  check_sparse(name, &with_count);
  if (out->datatype != like.datatype)
    fail(sparsecollInvalidArgument, name, ".datatype: expected ", like.datatype, ", got ",
         out->datatype);
  if (out->indexType != like.indexType)
    fail(sparsecollInvalidArgument, name, ".indexType: expected ", like.indexType, ", got ",
         out->indexType);
}

std::array<Place, 2> places(const char* indices, const char* values,
                            const sparsecollSparse_t& sparse) {
  return {Place{indices, sparse.indices,
                sparse.capacity * size_of(static_cast<IndexType>(sparse.indexType))},
          Place{values, sparse.values,
                sparse.capacity * size_of(static_cast<DataType>(sparse.datatype))}};
}

std::unique_ptr<Stash> make_stash(Communicator& communicator, size_t nnz,
                                  const sparsecollSparse_t& like) {
  auto stash = std::make_unique<Stash>();
  stash->nnz = nnz;
  stash->count = like.count;
  stash->data_type = static_cast<DataType>(like.datatype);
  stash->index_type = static_cast<IndexType>(like.indexType);
  stash->indices = Block(communicator.memory(), nnz * size_of(stash->index_type));
  stash->values = Block(communicator.memory(), nnz * size_of(stash->data_type));
  return stash;
}

SparseBuffer stash_buffer(const Stash& stash, Kernels& kernels) {
  return {stash.indices.data(), stash.values.data(), kernels.counts(1), stash.nnz};
}

SparseBuffer Output::prepare(Communicator& communicator, const sparsecollSparse_t& like,
                             Kernels& kernels) {
  if (fits()) return buffer_of(*recv_, kernels);
  stash_ = make_stash(communicator, nnz_, like);
  stash_->recv = recv_;
  communicator.stashes().reserve(communicator.stashes().size() + 1);
  return stash_buffer(*stash_, kernels);
}

void Output::finish(Communicator& communicator, uint64_t count) {
  recv_->count = count;
  recv_->nnz = fits() ? nnz_ : 0;
  recv_->needed = nnz_;
  if (stash_) communicator.stashes().push_back(std::move(stash_));
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

  DataType check() const {
    const DataType type = check_float_type(datatype);
    check_array("dense", dense, count, size_of(type));
    sparsecollSparse_t expected = SPARSECOLL_SPARSE_INITIALIZER;
    expected.datatype = datatype;
    expected.indexType = out ? out->indexType : 0;
    check_output("out", out, expected);
    check_reach("count", count, static_cast<IndexType>(out->indexType));
    if (out->capacity < most())
      fail(sparsecollInvalidArgument, "out.capacity: expected at least min(k, count) = ", most(),
           ", got ", out->capacity);
    for (const Place& place : places("out.indices", "out.values", *out))
      check_overlap({"dense", dense, count * size_of(type)}, place, false);
    return type;
  }

  void run(Communicator& communicator) const {
    const DataType type = check();
    const auto feedback = check_residual(residual, communicator, count, type);
    const Arena::Scope scope(communicator.arena());
    Kernels& kernels =
        make_host_kernels(type, static_cast<IndexType>(out->indexType), communicator.arena());
    const SparseBuffer result = buffer_of(*out, kernels);
    const bool direct = accumulation(type) == type;
    const SparseBuffer selected = direct ? result : kernels.sparse(most());
    kernels.accumulate_select({dense, count, feedback ? feedback->view() : ResidualView{}}, most(),
                              selected);
    if (!direct) kernels.deliver(selected.span(), 1, result);
    out->count = count;
    out->nnz = kernels.read(selected.nnz);
    if (feedback) feedback->commit();
  }
};

void scatter(const sparsecollSparse_t* in, void* dense, Communicator& communicator) {
  check_sparse("in", in);
  const DataType type = check_float_type(in->datatype);
  check_array("dense", dense, in->count, size_of(type));
  for (const Place& place : places("in.indices", "in.values", *in))
    check_overlap({"dense", dense, in->count * size_of(type)}, place, false);
  check_entries("in", *in, communicator.arena());
  const Arena::Scope scope(communicator.arena());
  Kernels& kernels =
      make_host_kernels(type, static_cast<IndexType>(in->indexType), communicator.arena());
  kernels.scatter(kernels.widened(span_of(*in, kernels)), 1, dense, in->count);
}

/// What is kept for this struct; after a call that was no group, any struct will do.
const Stash& find_stash(const sparsecollSparse_t* recv, Communicator& communicator) {
  const auto& stashes = communicator.stashes();
  if (stashes.empty())
    fail(sparsecollInvalidUsage,
         "nothing to fetch: the last verb did not return sparsecollTruncated");
  for (const auto& each : stashes)
    if (each->recv == recv || !communicator.last_was_group()) return *each;
  fail(sparsecollInvalidArgument,
       "recv: expected a struct that a call of the group was given, got ",
       static_cast<const void*>(recv));
}

void fetch(sparsecollSparse_t* recv, size_t* recvcounts, Communicator& communicator) {
  const Stash* stash = &find_stash(recv, communicator);
  if (recvcounts && stash->from.empty())
    fail(sparsecollInvalidArgument, "recvcounts: expected NULL after any verb but sparseAlltoall, ",
         "got ", static_cast<const void*>(recvcounts));
  check_array("recvcounts", recvcounts, recvcounts ? stash->from.size() : 0, sizeof(size_t));
  sparsecollSparse_t kept = SPARSECOLL_SPARSE_INITIALIZER;
  kept.datatype = static_cast<int>(stash->data_type);
  kept.indexType = static_cast<int>(stash->index_type);
  check_output("recv", recv, kept);
  if (recvcounts) std::copy(stash->from.begin(), stash->from.end(), recvcounts);
  recv->count = stash->count;
  recv->needed = stash->nnz;
  recv->nnz = 0;
  if (recv->capacity < stash->nnz)
    fail(sparsecollTruncated, "recv.capacity: expected at least ", stash->nnz, ", got ",
         recv->capacity);
  recv->nnz = stash->nnz;
  if (stash->nnz == 0) return;
  std::memcpy(recv->indices, stash->indices.data(), stash->nnz * size_of(stash->index_type));
  std::memcpy(recv->values, stash->values.data(), stash->nnz * size_of(stash->data_type));
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollTopk(const void* dense, size_t count, size_t k,
                                  sparsecollDataType_t datatype, sparsecollResidual_t residual,
                                  sparsecollSparse_t* out, sparsecollComm_t comm,
                                  sparsecollStream_t stream) {
  return submit_local("sparsecollTopk", comm, [=](Communicator& communicator) {
    check_stream(stream);
    TopkCall{dense, count, k, datatype, residual, out}.run(communicator);
  });
}

sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                     sparsecollComm_t comm, sparsecollStream_t stream) {
  return submit_local("sparsecollScatter", comm, [=](Communicator& communicator) {
    check_stream(stream);
    scatter(in, dense, communicator);
  });
}

sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                   sparsecollComm_t comm, sparsecollStream_t stream) {
  return on_communicator("sparsecollFetch", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    check_stream(stream);
    fetch(recv, recvcounts, communicator);
    return sparsecollSuccess;
  });
}
