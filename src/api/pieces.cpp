// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The local pieces: sparsecollTopk, sparsecollScatter, sparsecollFetch, and results that wait for
// it.
#include "api/operation.hpp"
#include "api/stash.hpp"

namespace sparsecoll {

void check_output(const char* name, const sparsecollSparse_t* out, const Like& like) {
  if (!out) fail(sparsecollInvalidArgument, name, ": expected a sparse vector, got NULL");
  sparsecollSparse_t with_count = *out;  // count is ours to write
  with_count.count = 0;
  check_sparse(name, &with_count, like.device);
  if (out->datatype != like.sparse.datatype)
    fail(sparsecollInvalidArgument, name, ".datatype: expected ",
         name_of(static_cast<DataType>(like.sparse.datatype)), ", got ",
         name_of(static_cast<DataType>(out->datatype)));
  if (out->indexType != like.sparse.indexType)
    fail(sparsecollInvalidArgument, name, ".indexType: expected ", like.sparse.indexType, ", got ",
         out->indexType, " (sparsecollIndex32 is 0, sparsecollIndex64 is 1)");
}

std::array<Place, 3> places(const char* indices, const char* values,
                            const sparsecollSparse_t& sparse) {
  return {Place{indices, sparse.indices,
                sparse.capacity * size_of(static_cast<IndexType>(sparse.indexType))},
          Place{values, sparse.values,
                sparse.capacity * size_of(static_cast<DataType>(sparse.datatype))},
          Place{"nnzOnDevice", sparse.nnzOnDevice, sparse.nnzOnDevice ? sizeof(size_t) : 0}};
}

std::unique_ptr<Stash> make_stash(Communicator& communicator, size_t nnz, const Like& like) {
  auto stash = std::make_unique<Stash>();
  stash->nnz = nnz;
  stash->count = like.sparse.count;
  stash->data_type = static_cast<DataType>(like.sparse.datatype);
  stash->index_type = static_cast<IndexType>(like.sparse.indexType);
  stash->device = like.device;
  Memory& memory = *communicator.memory_at(like.device);
  stash->indices = Block(memory, nnz * size_of(stash->index_type));
  stash->values = Block(memory, nnz * size_of(stash->data_type));
  return stash;
}

SparseBuffer stash_buffer(const Stash& stash, Kernels& kernels) {
  return {stash.indices.data(), stash.values.data(), kernels.counts(1), stash.nnz};
}

SparseBuffer Output::prepare(Communicator& communicator, const Like& like, Kernels& kernels) {
  const SparseBuffer own = buffer_of(*recv_, kernels);
  if (fits()) return own;
  stash_ = make_stash(communicator, nnz_, like);
  stash_->recv = recv_;
  communicator.stashes().reserve(communicator.stashes().size() + 1);
  kernels.set_count(own.nnz, 0);
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
    for (const Place& place : places("out.indices", "out.values", *out))
      check_overlap({"dense", dense, count * size_of(type)}, place, false);
    return type;
  }

  void run(Communicator& communicator, const Site& site) const {
    const DataType type = check(site.device());
    const auto feedback = check_residual(residual, communicator, {count, type, site.device()});
    Kernels& kernels = site.kernels(communicator, type, static_cast<IndexType>(out->indexType));
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
             const Site& site) {
  check_sparse("in", in, site.device());
  const DataType type = check_float_type(in->datatype);
  check_array("dense", dense, in->count, size_of(type));
  for (const Place& place : places("in.indices", "in.values", *in))
    check_overlap({"dense", dense, in->count * size_of(type)}, place, false);
  Kernels& kernels = site.kernels(communicator, type, static_cast<IndexType>(in->indexType));
  check_entries("in", *in, kernels);
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

void fetch(sparsecollSparse_t* recv, size_t* recvcounts, Communicator& communicator,
           const Site& site) {
  const Stash* stash = &find_stash(recv, communicator);
  if (recvcounts && stash->from.empty())
    fail(sparsecollInvalidArgument, "recvcounts: expected NULL after any verb but sparseAlltoall, ",
         "got ", static_cast<const void*>(recvcounts));
  check_array("recvcounts", recvcounts, recvcounts ? stash->from.size() : 0, sizeof(size_t));
  sparsecollSparse_t kept = SPARSECOLL_SPARSE_INITIALIZER;
  kept.datatype = static_cast<int>(stash->data_type);
  kept.indexType = static_cast<int>(stash->index_type);
  check_output("recv", recv, {kept, site.device()});
  if (site.device() != stash->device && recv->capacity > 0)
    fail(sparsecollInvalidArgument, "recv: expected ", name_of_place(stash->device),
         ", where the result is, got ", name_of_place(site.device()));
  check_on_host("recvcounts", recvcounts);
  const bool fits = recv->capacity >= stash->nnz;
  if (site.device() == stash->device) {
    Kernels& kernels = site.kernels(communicator, stash->data_type, stash->index_type);
    kernels.set_count(buffer_of(*recv, kernels).nnz, fits ? stash->nnz : 0);
    if (fits) {
      kernels.copy(stash->indices.data(), stash->nnz * size_of(stash->index_type), recv->indices);
      kernels.copy(stash->values.data(), stash->nnz * size_of(stash->data_type), recv->values);
    }
  }
  if (recvcounts) std::copy(stash->from.begin(), stash->from.end(), recvcounts);
  recv->count = stash->count;
  recv->needed = stash->nnz;
  recv->nnz = fits ? stash->nnz : 0;
  if (!fits)
    fail(sparsecollTruncated, "recv.capacity: expected at least ", stash->nnz, ", got ",
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
  return submit_local(
      "sparsecollTopk", comm, buffers,
      [call](Communicator& communicator, const Site& site) { call.run(communicator, site); });
}

sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                     sparsecollComm_t comm, sparsecollStream_t stream) {
  const Buffers buffers = Buffers({{"dense", dense}}, stream).add("in", in);
  return submit_local("sparsecollScatter", comm, buffers,
                      [in, dense](Communicator& communicator, const Site& site) {
                        scatter(in, dense, communicator, site);
                      });
}

sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                   sparsecollComm_t comm, sparsecollStream_t stream) {
  return on_communicator("sparsecollFetch", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    const Workspace workspace(communicator);
    Site site;
    site.enter(communicator, Buffers({}, stream).add("recv", recv));
    fetch(recv, recvcounts, communicator, site);
    return sparsecollSuccess;
  });
}
