// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The verbs in dense form: sparseAllreduce and gtopkAllreduce.
#include "api/operation.hpp"
#include "api/reduction.hpp"

namespace sparsecoll {

namespace {

struct DenseArguments {
  Verb verb;
  const void* send;
  void* recv;
  size_t count;
  size_t k;
  int datatype;
  int op;
  sparsecollResidual_t residual_handle;
  sparsecollStream_t stream;
};

class DenseCall final : public Operation, private DenseArguments {
 public:
  explicit DenseCall(const DenseArguments& arguments) : DenseArguments(arguments) {
    if (verb == Verb::gtopk_allreduce) context().allow_capture();
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
  }

  MemoryUse memory_use() const override {
    const size_t bytes = count * size_of(type);
    return {{{"sendbuff", send, bytes}}, {{"recvbuff", recv, bytes}}, residual.get()};
  }

  void run(const Invocation& invocation) override {
    Kernels& kernels = context().kernels(invocation.communicator, type, narrowest_index(count));
    Reduction reduction(invocation, kernels);
    const auto rule =
        static_cast<ResidualRule>(invocation.communicator.config().values.residualRule);
    if (verb == Verb::gtopk_allreduce) return run_sparse(reduction, nullptr, rule);
    const AlgorithmEntry& chosen =
        reduction.sparse_algorithm({count, std::min(k, count), {}, 0}, Reduction::Form::dense);
    switch (chosen.local) {
      case LocalPart::topk:
      case LocalPart::above:
        return run_sparse(reduction, &chosen, ResidualRule::conserving);
      case LocalPart::shards:
        return run_shards(reduction, chosen);
      case LocalPart::everything:
      case LocalPart::whole:
        return run_dense(reduction, chosen);
    }
  }

 private:
  Buffers buffers() const noexcept override {
    return {{{"sendbuff", send}, {"recvbuff", recv}}, stream};
  }

  /// Selection, exchange, result and residual of a sparse algorithm.
  void run_sparse(Reduction& reduction, const AlgorithmEntry* chosen, ResidualRule rule) {
    Env& env = reduction.env();
    Kernels& kernels = env.kernels;
    Problem problem{count, std::min(k, count), {}, 0};
    const ResidualView feedback = residual ? residual->view() : ResidualView{};
    if (chosen && chosen->local == LocalPart::above) {
      const Stopwatch watch(env.stats, Phase::select);
      problem.local = select_above(env, {send, count, feedback}, problem.k, reduction.cache());
    } else {
      const Stopwatch watch(env.stats, Phase::select);
      const SparseBuffer selected = kernels.sparse(problem.k);
      kernels.accumulate_select({send, count, feedback}, problem.k, selected);
      problem.local = selected.span();
    }
    const Rounded sent = round_for_wire(env, problem.local.stored());
    problem.local = sent.values;
    const Outcome outcome = chosen ? reduction.run(chosen->run, chosen->id, problem)
                                   : reduction.run_settled(gtopk, problem);
    const Stopwatch watch(env.stats, Phase::reduce);
    if (residual) {
      reduction.keep_lost(sent.lost, feedback.write);
      kernels.put_back({problem.local, outcome.result, outcome.dropped, rule}, feedback.write);
      if (context().captured()) residual->join_graph();
      residual->commit(kernels);
    }
    kernels.scatter(outcome.result, divisor, recv, count);
  }

  /// Selection shard by shard; everything selected is delivered.
  void run_shards(Reduction& reduction, const AlgorithmEntry& chosen) {
    Env& env = reduction.env();
    Kernels& kernels = env.kernels;
    Problem problem{count, std::min(k, count), {}, 0};
    const std::span<const Shard> shards = topka2a_shards(env, count, problem.k);
    const auto selected = env.arena.take_span<SparseSpan>(shards.size());
    const auto lost = env.arena.take_span<SparseSpan>(shards.size());
    {
      const Stopwatch watch(env.stats, Phase::select);
      for (size_t j = 0; j < shards.size(); ++j) {
        const SparseBuffer out = kernels.sparse(shards[j].k);
        kernels.accumulate_select(part(shards[j].region), shards[j].k, out);
        const Rounded sent = round_for_wire(env, out.span().stored());
        selected[j] = sent.values;
        lost[j] = sent.lost;
      }
    }
    problem.shards = selected;
    const Outcome outcome = reduction.run(chosen.run, chosen.id, problem);
    const Stopwatch watch(env.stats, Phase::reduce);
    if (residual) {
      for (size_t j = 0; j < shards.size(); ++j)
        reduction.keep_lost(lost[j], part(shards[j].region).residual.write);
      reduction.keep_lost(outcome.dropped, residual->view().write);
      residual->commit(kernels);
    }
    kernels.scatter(outcome.result, divisor, recv, count);
  }

  /// The gradient and its residual in one region.
  Gradient part(const Region& region) const {
    Gradient gradient{
        static_cast<const std::byte*>(send) + region.begin * size_of(type), region.length(), {}};
    if (!residual) return gradient;
    const size_t skipped = region.begin * residual->value_size();
    gradient.residual = {static_cast<const std::byte*>(residual->view().read) + skipped,
                         static_cast<std::byte*>(residual->view().write) + skipped};
    return gradient;
  }

  /// All of acc; where that is what was selected, sums of zero go back to the residuals of those
  /// ranks that have one.
  void run_dense(Reduction& reduction, const AlgorithmEntry& chosen) {
    Env& env = reduction.env();
    Kernels& kernels = env.kernels;
    const bool selected = chosen.local == LocalPart::whole;
    void* acc = kernels.bytes(count * size_of(accumulation(type)));
    uint64_t* const all = kernels.counts(1);
    const SparseSpan whole{nullptr, acc, {count, all}};
    // A gradient alone travels in its own type.
    Problem problem{count, kAll, residual ? whole : whole.stored(), 0};
    {
      const Stopwatch watch(env.stats, Phase::select);
      kernels.accumulate({send, count, residual ? residual->view() : ResidualView{}}, acc);
      kernels.set_count(all, count);
      if (selected) problem.entries = reduction.count_entries(whole);
    }
    const Outcome outcome = reduction.run(chosen.run, chosen.id, problem);
    const Stopwatch watch(env.stats, Phase::reduce);
    if (selected)
      reduction.correct_counts(*problem.entries, reduction.count_entries(outcome.result));
    if (residual) {
      void* const left = residual->view().write;
      if (selected)
        kernels.keep_cancelled(acc, outcome.result, left);
      else
        kernels.zero(left, count);
      residual->commit(kernels);
    }
    kernels.scatter(outcome.result, divisor, recv, count);
  }

  // Set by check().
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
                DenseCall({Verb::sparse_allreduce, sendbuff, recvbuff, count, k, datatype, op,
                           residual, stream}),
                comm);
}

sparsecollResult_t gtopkAllreduce(const void* sendbuff, void* recvbuff, size_t count, size_t k,
                                  sparsecollDataType_t datatype, sparsecollRedOp_t op,
                                  sparsecollResidual_t residual, sparsecollComm_t comm,
                                  sparsecollStream_t stream) {
  return submit(Verb::gtopk_allreduce,
                DenseCall({Verb::gtopk_allreduce, sendbuff, recvbuff, count, k, datatype, op,
                           residual, stream}),
                comm);
}
