// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The verbs in coordinate form: sparseAllreducev and gtopkAllreducev.
#include "api/operation.hpp"
#include "api/output.hpp"
#include "api/reduction.hpp"
#include "api/sharding.hpp"
#include "collectives/building_blocks/rounding.hpp"
#include "collectives/building_blocks/selection.hpp"

namespace sparsecoll {

namespace {

struct CoordinateArguments {
  Verb verb;
  const Algorithm* only;  ///< the verb's only algorithm; null: the configured one, or Auto's choice
  const sparsecollSparse_t* send;
  sparsecollSparse_t* recv;
  size_t k;
  int op;
  sparsecollResidual_t residual_handle;
  sparsecollStream_t stream;
};

class CoordinateOperation final : public Operation, private CoordinateArguments {
 public:
  explicit CoordinateOperation(const CoordinateArguments& arguments)
      : CoordinateArguments(arguments) {}

  Descriptor descriptor() const override {
    const bool there = send && send->size >= sizeof *send;
    Descriptor all =
        describe(verb, {there ? send->count : 0, k, there ? word_of(send->datatype) : 0,
                        word_of(op), there ? word_of(send->indexType) : 0});
    all.argument[kBlockSize] = there ? block_size_of(*send) : 0;
    return all;
  }

  void check_arguments(Communicator& communicator) override {
    check_sparse("send", send, context().device());
    check_output("recv", recv, {*send, context().device()});
    divisor = check_op(op, communicator.size());
    check_exact_sum(static_cast<DataType>(send->datatype), k, op);
    check_block_selection(*send, k, communicator.config().values, only != nullptr);
    const AlgorithmInfo& configured = *algorithm_info(communicator.config().values.algorithm);
    if (!only && !configured.coordinate_form)
      fail(sparsecollInvalidArgument, "algorithm: expected one that works in coordinate form, got ",
           configured.name);
    for (const ByteRange& in : byte_ranges("send.indices", "send.values", *send))
      for (const ByteRange& out : byte_ranges("recv.indices", "recv.values", *recv))
        check_overlap(in, out, false);
    residual = check_residual(residual_handle, communicator,
                              {values_of(send->count, block_size_of(*send)),
                               static_cast<DataType>(send->datatype), context().device()});
    check_rule(residual.get(), false);
    check_entries("send", *send, kernels(communicator));
  }

  MemoryUse buffers_in_use() const override {
    const auto in = byte_ranges("send.indices", "send.values", *send);
    const auto out = byte_ranges("recv.indices", "recv.values", *recv);
    return {{in[0], in[1], in[2], {"send", send, sizeof *send}},
            {out[0], out[1], out[2], {"recv", recv, sizeof *recv}}};
  }
  Residual* residual_in_use() const override { return residual.get(); }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    Kernels& kernels = this->kernels(communicator);
    Reduction reduction(invocation, kernels);
    const SparseSpan sent = kernels.widened(span_of(*send, kernels));
    Problem problem{send->count, k == kAll ? k : std::min(k, send->count), sent, 0};
    reduction.set_scales(problem);
    const Algorithm& algorithm =
        only ? *only : reduction.sparse_algorithm(problem, Reduction::Form::sparse);
    SparseSpan unsent;
    if (algorithm.selects_input && k != kAll) {  // L_r = top-k of send_r; the rest stays here
      const SparseBuffer kept = kernels.sparse(std::min(k, send->nnz));
      const SparseBuffer rest = kernels.sparse(send->nnz);
      kernels.top_k(sent, k, kept, rest);
      problem.local = kept.span().stored();
      unsent = rest.span();
    }
    const Rounded local = round_for_wire(reduction.env(), problem.local);
    problem.local = local.values;
    reduction.mark_non_finite(sent);
    const Outcome outcome = reduction.run(algorithm, problem);
    const bool skips = reduction.skips_residuals();
    if (residual && !skips) {
      const SparseSpan changes[] = {unsent, local.lost, problem.local, outcome.dropped};
      residual->keep(kernels, changes, communicator.running_call());
    }
    Output output(recv, reduction.result_entries());
    const SparseBuffer out = output.prepare(communicator, {*send, context().device()}, kernels);
    // Nothing can fail from here on.
    if (residual && !skips) {
      const ResidualRule rule = reduction.residual_rule(algorithm);
      // First add the entries of acc, then those that merges dropped: the definition has this
      // order.
      kernels.put_back({unsent, {}, {}, rule}, residual->current());
      add_lost(kernels, local.lost, residual->current());
      kernels.put_back({problem.local, outcome.result, outcome.dropped, rule}, residual->current());
    }
    kernels.deliver(outcome.result, divisor, out);
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

  // check_arguments() sets these.
  int divisor = 1;
  std::shared_ptr<Residual> residual;
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparseAllreducev(const sparsecollSparse_t* send, sparsecollSparse_t* recv,
                                    size_t k, sparsecollRedOp_t op, sparsecollResidual_t residual,
                                    sparsecollComm_t comm, sparsecollStream_t stream) {
  return submit(
      Verb::sparse_allreducev,
      CoordinateOperation({Verb::sparse_allreducev, nullptr, send, recv, k, op, residual, stream}),
      comm);
}

sparsecollResult_t gtopkAllreducev(const sparsecollSparse_t* send, sparsecollSparse_t* recv,
                                   size_t k, sparsecollRedOp_t op, sparsecollResidual_t residual,
                                   sparsecollComm_t comm, sparsecollStream_t stream) {
  return submit(
      Verb::gtopk_allreducev,
      CoordinateOperation({Verb::gtopk_allreducev, &gtopk(), send, recv, k, op, residual, stream}),
      comm);
}
