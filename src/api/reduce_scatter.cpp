// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparseReduceScatter: takes a dense vector and gives this rank's region of the sum in coordinate
// form.
#include "api/bounds.hpp"
#include "api/operation.hpp"
#include "api/output.hpp"
#include "api/reduction.hpp"
#include "api/sharding.hpp"
#include "collectives/building_blocks/selection.hpp"

namespace sparsecoll {

namespace {

struct ReduceScatterArguments {
  const void* send;
  sparsecollSparse_t* recv;
  size_t count;
  size_t k;
  int datatype;
  int op;
  Bounds bounds;
  sparsecollResidual_t residual_handle;
  sparsecollStream_t stream;
};

class ReduceScatterOperation final : public Operation, private ReduceScatterArguments {
 public:
  explicit ReduceScatterOperation(ReduceScatterArguments arguments)
      : ReduceScatterArguments(std::move(arguments)) {}

  Descriptor descriptor() const override {
    const bool there = recv && recv->size >= sizeof *recv;
    Descriptor all =
        describe(Verb::sparse_reduce_scatter,
                 {count, k, word_of(datatype), word_of(op), there ? word_of(recv->indexType) : 0});
    all.argument[kBlockSize] = there ? block_size_of(*recv) : 0;
    bounds.describe(count, all);
    return all;
  }

  void check_arguments(Communicator& communicator) override {
    type = check_float_type(datatype);
    divisor = check_op(op, communicator.size());
    block_size = recv ? block_size_of(*recv) : 1;
    values = values_of(count, block_size);
    check_array("sendbuff", send, values, size_of(type));
    format.count = count;
    format.blockSize = block_size;
    format.datatype = datatype;
    format.indexType = recv ? recv->indexType : 0;
    check_output("recv", recv, {format, context().device()});
    check_reach("count", count, static_cast<IndexType>(recv->indexType));
    for (const ByteRange& out : byte_ranges("recv.indices", "recv.values", *recv))
      check_overlap({"sendbuff", send, values * size_of(type)}, out, false);
    bounds.check(count);
    residual = check_residual(residual_handle, communicator, {values, type, context().device()});
    sharded = is_sharded(communicator);
    check_rule(residual.get(), sharded);
  }

  MemoryUse buffers_in_use() const override {
    const auto out = byte_ranges("recv.indices", "recv.values", *recv);
    return {{{"sendbuff", send, values * size_of(type)}, bounds.byte_range()},
            {out[0], out[1], out[2], {"recv", recv, sizeof *recv}}};
  }
  Residual* residual_in_use() const override { return residual.get(); }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    Kernels& kernels =
        context().kernels(communicator, type, static_cast<IndexType>(recv->indexType), block_size);
    Reduction reduction(invocation, kernels);
    Env& env = reduction.env();
    Problem problem{count, entries_to_keep(communicator, count, k, block_size), {}, 0};
    reduction.set_scales(problem);
    problem.regions = bounds.regions(count, env);
    problem.topology = reduction.known_topology();
    if (residual) residual->prepare_update(communicator.agreed());
    const Gradient gradient{send, count, residual ? residual->view() : ResidualView{}};
    const Algorithm& algorithm = sharded ? sharded_reduce_scatter() : reduce_scatter();
    const Selected selected = algorithm.selection.select(env, gradient, problem, invocation.cache);
    reduction.mark_non_finite(problem, gradient,
                              residual ? residual->held_count() / block_size : 0);
    const Outcome outcome = reduction.run(algorithm, problem);
    const bool skips = reduction.skips_residuals();
    Output output(recv, reduction.result_entries());
    const SparseBuffer out = output.prepare(communicator, {format, context().device()}, kernels);
    // Nothing can fail from here on.
    const Stopwatch watch(env.stats, Phase::reduce);
    if (residual && !skips) {
      for (const SparseSpan& lost : selected.lost) add_lost(kernels, lost, residual->view().write);
      residual->commit(kernels, communicator.running_call());
    }
    kernels.deliver(outcome.result, divisor, out);
    output.finish(communicator, count);
  }

 private:
  Buffers buffers() const noexcept override {
    return Buffers({{"sendbuff", send}}, stream).add("recv", recv);
  }

  /// Returns whether Sharded forms the sums. Throws InvalidArgument if it must and the bounds do
  /// not agree with the shards.
  bool is_sharded(const Communicator& communicator) const {
    if (!shards(communicator, count, type)) return false;
    if (block_size > 1) {
      if (communicator.config().values.algorithm == sparsecollAlgoSharded)
        fail(sparsecollInvalidArgument,
             "recv.blockSize: expected 1 with sparsecollAlgoSharded, got ", block_size);
      return false;
    }
    const auto region_of = [&](int rank) { return bounds.region(rank, count); };
    const std::optional<int> odd = rank_outside_its_shard(communicator, count, region_of);
    if (odd && communicator.config().values.algorithm == sparsecollAlgoSharded)
      fail(sparsecollInvalidArgument, "bounds: expected regions within the ranks' shards, got ",
           region_of(*odd).begin, " to ", region_of(*odd).end, " for rank ", *odd,
           " (sparsecollAlgoSharded)");
    return !odd;
  }

  // check_arguments() sets these.
  bool sharded = false;
  DataType type = DataType::float32;
  int divisor = 1;
  size_t block_size = 1;
  size_t values = 0;  ///< of sendbuff
  sparsecollSparse_t format = SPARSECOLL_SPARSE_INITIALIZER;
  std::shared_ptr<Residual> residual;
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparseReduceScatter(const void* sendbuff, sparsecollSparse_t* recv, size_t count,
                                       size_t k, sparsecollDataType_t datatype,
                                       sparsecollRedOp_t op, const size_t* bounds,
                                       sparsecollResidual_t residual, sparsecollComm_t comm,
                                       sparsecollStream_t stream) {
  return submit(Verb::sparse_reduce_scatter,
                ReduceScatterOperation({sendbuff, recv, count, k, datatype, op,
                                        Bounds(bounds, comm), residual, stream}),
                comm);
}
