// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparseAlltoall: sends every entry to the owner of its index.
#include "collectives/alltoall.hpp"

#include "api/bounds.hpp"
#include "api/operation.hpp"
#include "api/output.hpp"
#include "api/reduction.hpp"
#include "collectives/building_blocks/regions.hpp"

namespace sparsecoll {

namespace {

struct AlltoallArguments {
  const sparsecollSparse_t* send;
  sparsecollSparse_t* recv;
  size_t* recvcounts;
  Bounds bounds;
  sparsecollStream_t stream;
};

class AlltoallOperation final : public Operation, private AlltoallArguments {
 public:
  explicit AlltoallOperation(AlltoallArguments arguments)
      : AlltoallArguments(std::move(arguments)) {}

  Descriptor descriptor() const override {
    const bool there = send && send->size >= sizeof *send;
    const uint64_t count = there ? send->count : 0;
    Descriptor all = describe(Verb::sparse_alltoall, {count, 0, there ? word_of(send->datatype) : 0,
                                                      0, there ? word_of(send->indexType) : 0});
    all.argument[kBlockSize] = there ? block_size_of(*send) : 0;
    bounds.describe(count, all);
    return all;
  }

  void check_arguments(Communicator& communicator) override {
    check_sparse("send", send, context().device());
    check_output("recv", recv, {*send, context().device()});
    ranks = static_cast<size_t>(communicator.size());
    check_array("recvcounts", recvcounts, recvcounts ? ranks : 0, sizeof(size_t));
    check_on_host("recvcounts", recvcounts);
    for (const ByteRange& in : byte_ranges("send.indices", "send.values", *send))
      for (const ByteRange& out : byte_ranges("recv.indices", "recv.values", *recv))
        check_overlap(in, out, false);
    const ByteRange counts{"recvcounts", recvcounts, recvcounts ? ranks * sizeof(size_t) : 0};
    for (const ByteRange& in : byte_ranges("send.indices", "send.values", *send))
      check_overlap(counts, in, false);
    for (const ByteRange& out : byte_ranges("recv.indices", "recv.values", *recv))
      check_overlap(counts, out, false);
    bounds.check(send->count);
    check_entries("send", *send, kernels(communicator));
  }

  MemoryUse buffers_in_use() const override {
    const auto in = byte_ranges("send.indices", "send.values", *send);
    const auto out = byte_ranges("recv.indices", "recv.values", *recv);
    MemoryUse all{{in[0], in[1], in[2], {"send", send, sizeof *send}, bounds.byte_range()},
                  {out[0], out[1], out[2], {"recv", recv, sizeof *recv}}};
    if (recvcounts) all.writes.push_back({"recvcounts", recvcounts, ranks * sizeof(size_t)});
    return all;
  }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    Kernels& kernels = this->kernels(communicator);
    Reduction reduction(invocation, kernels);
    Env& env = reduction.env();
    const ReceivedVectors came =
        alltoall(env, kernels.widened(span_of(*send, kernels)), bounds.regions(send->count, env));
    reduction.confirm(send->nnz, came.entries);
    Output output(recv, came.entries);
    const SparseBuffer out = output.prepare(communicator, {*send, context().device()}, kernels);
    if (PendingResult* pending_result = output.pending_result())
      pending_result->from.resize(came.spans.size());
    // Nothing can fail from here on.
    const Stopwatch watch(env.stats, Phase::reduce);
    for (size_t r = 0; r < came.spans.size(); ++r) {
      const size_t from = kernels.read(came.spans[r].nnz.at);
      if (recvcounts) recvcounts[r] = from;
      if (PendingResult* pending_result = output.pending_result()) pending_result->from[r] = from;
    }
    kernels.deliver_concatenated(came.spans, out);
    output.finish(communicator, send->count);
  }

 private:
  Buffers buffers() const noexcept override {
    return Buffers({}, stream).add("send", send).add("recv", recv);
  }
  Kernels& kernels(Communicator& communicator) const {
    return context().kernels(communicator, static_cast<DataType>(send->datatype),
                             static_cast<IndexType>(send->indexType), block_size_of(*send));
  }

  size_t ranks = 1;  ///< set by check_arguments()
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparseAlltoall(const sparsecollSparse_t* send, sparsecollSparse_t* recv,
                                  size_t* recvcounts, const size_t* bounds, sparsecollComm_t comm,
                                  sparsecollStream_t stream) {
  return submit(Verb::sparse_alltoall,
                AlltoallOperation({send, recv, recvcounts, Bounds(bounds, comm), stream}), comm);
}
