// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The verbs in dense form: sparseAllreduce and gtopkAllreduce.
#include "api/operation.hpp"
#include "api/reduction.hpp"
#include "api/sharding.hpp"

namespace sparsecoll {

namespace {

struct DenseArguments {
  Verb verb;
  const Algorithm* only;  ///< the verb's only algorithm; null: the configured one, or Auto's choice
  const void* send;
  void* recv;
  size_t count;
  size_t k;
  int datatype;
  int op;
  sparsecollResidual_t residual_handle;
  sparsecollStream_t stream;
};

class DenseOperation final : public Operation, private DenseArguments {
 public:
  explicit DenseOperation(const DenseArguments& arguments) : DenseArguments(arguments) {
    if (only && only->knows_bounds) context().allow_capture();
  }

  Descriptor descriptor() const override {
    return describe(verb, {count, k, word_of(datatype), word_of(op), 0});
  }

  void check_arguments(Communicator& communicator) override {
    type = check_float_type(datatype);
    divisor = check_op(op, communicator.size());
    check_array("sendbuff", send, count, size_of(type));
    check_array("recvbuff", recv, count, size_of(type));
    const size_t bytes = count * size_of(type);
    check_overlap({"sendbuff", send, bytes}, {"recvbuff", recv, bytes}, true);
    residual = check_residual(residual_handle, communicator,
                              {count, type, context().device(), context().captured()});
    check_rule(residual.get(), !only && shards(communicator, count, type));
  }

  MemoryUse buffers_in_use() const override {
    const size_t bytes = count * size_of(type);
    return {{{"sendbuff", send, bytes}}, {{"recvbuff", recv, bytes}}};
  }
  Residual* residual_in_use() const override { return residual.get(); }

  void run(const Invocation& invocation) override {
    Kernels& kernels = context().kernels(invocation.communicator, type, narrowest_index(count));
    Reduction reduction(invocation, kernels);
    Env& env = reduction.env();
    Problem problem{count, entries_to_keep(invocation.communicator, count, k), {}, 0};
    problem.topology = reduction.known_topology();
    reduction.set_scales(problem);
    const Algorithm& algorithm =
        only ? *only : reduction.sparse_algorithm(problem, Reduction::Form::dense);
    if (residual && context().captured()) residual->set_captured();
    if (residual) residual->prepare_update(invocation.communicator.agreed());
    const Gradient gradient{send, count, residual ? residual->view() : ResidualView{}};
    const Selected selected = algorithm.selection.select(env, gradient, problem, invocation.cache);
    reduction.mark_non_finite(problem, gradient, residual ? residual->held_count() : 0);
    const Outcome outcome = algorithm.knows_bounds
                                ? reduction.run_without_reading(algorithm, problem)
                                : reduction.run(algorithm, problem);
    const bool skips = reduction.skips_residuals();
    const Gradient delivered{send, count, skips ? ResidualView{} : gradient.residual};
    const Stopwatch watch(env.stats, Phase::reduce);
    algorithm.selection.put_back(
        env, {delivered, problem, selected, outcome, reduction.residual_rule(algorithm)});
    if (residual && !skips) residual->commit(kernels, invocation.communicator.running_call());
    kernels.scatter(outcome.result, divisor, {0, count}, recv);
  }

 private:
  Buffers buffers() const noexcept override {
    return {{{"sendbuff", send}, {"recvbuff", recv}}, stream};
  }

  // check_arguments() sets these.
  DataType type = DataType::float32;
  int divisor = 1;
  std::shared_ptr<Residual> residual;
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparseAllreduce(const void* sendbuff, void* recvbuff, size_t count, size_t k,
                                   sparsecollDataType_t datatype, sparsecollRedOp_t op,
                                   sparsecollResidual_t residual, sparsecollComm_t comm,
                                   sparsecollStream_t stream) {
  return submit(Verb::sparse_allreduce,
                DenseOperation({Verb::sparse_allreduce, nullptr, sendbuff, recvbuff, count, k,
                                datatype, op, residual, stream}),
                comm);
}

sparsecollResult_t gtopkAllreduce(const void* sendbuff, void* recvbuff, size_t count, size_t k,
                                  sparsecollDataType_t datatype, sparsecollRedOp_t op,
                                  sparsecollResidual_t residual, sparsecollComm_t comm,
                                  sparsecollStream_t stream) {
  return submit(Verb::gtopk_allreduce,
                DenseOperation({Verb::gtopk_allreduce, &gtopk(), sendbuff, recvbuff, count, k,
                                datatype, op, residual, stream}),
                comm);
}
