// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random calls of sparseAllreducev and gtopkAllreducev.

#include <optional>
#include <sstream>

#include "fault/sparse_outputs.hpp"

namespace sparsecoll::fault {

namespace {

template <class T>
class Coordinates final : public RandomCall {
 public:
  Coordinates(const Plan& plan, TypedTensor<T>& tensor, test::Verb verb)
      : tensor_(tensor),
        mode_(plan.context.mode(verb)),
        k_(random_k(plan.random, tensor.n(), plan.context.reuses())),
        kind_(plan.random.pick(test::kAllSparseKinds)),
        op_(plan.random.one_in(3) ? oracle::Op::kAvg : oracle::Op::kSum),
        index_type_(random_index_type(plan.random)),
        too_small_(plan.may_truncate && plan.random.one_in(4)) {
    const auto sends =
        test::make_sparse_of_all<T>(kind_, tensor.n(), plan.context.P, plan.random.seed());
    for (const auto& send : sends) sends_.emplace_back(tensor.n(), index_type_, send);
    oracle::PerRank<oracle::Sparse<T>> want(sends.size());
    if (!plan.refused) {
      const oracle::SparseInputs<T> in{sends, tensor.before(), 1, tensor.n()};
      const bool replayed = plan.context.reuses() && verb == test::Verb::kSparse;
      const auto outcome = replayed ? replay_of<T>(plan.context, index_type_, tensor.n(), k_, op_)
                                          .sparse_allreducev(in, op_)
                                    : test::expected<T>(mode_, in, k_, op_);
      want.assign(sends.size(), outcome.result);
      tensor.set_after(outcome.residuals);
    }
    outputs_.emplace(want, index_type_, too_small_);
  }

  std::string describe() const override {
    std::ostringstream out;
    out << mode_.name << "v " << test::name_of(test::kDatatype<T>) << " n=" << tensor_.n()
        << " k=" << k_ << " data='" << test::name_of(kind_) << "' " << test::name_of(op_)
        << " index type " << index_type_ << (too_small_ ? " too small" : "");
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const auto function = mode_.verb == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
    return function(
        bad_argument == BadArgument::kNull ? nullptr : sends_[static_cast<size_t>(rank)].get(),
        outputs_->get(rank), k_,
        bad_argument == BadArgument::kEnumerator ? static_cast<sparsecollRedOp_t>(3)
                                                 : test::op_of(op_),
        tensor_.handle(rank), comm,
        bad_argument == BadArgument::kStream ? reinterpret_cast<sparsecollStream_t>(&k_) : nullptr);
  }

  bool truncates(int rank) const override { return outputs_->too_small(rank); }
  std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) override {
    return outputs_->check(rank, comm, may_fetch);
  }
  std::string check_untouched(int rank) const override { return outputs_->check_untouched(rank); }

 private:
  TypedTensor<T>& tensor_;
  test::Mode mode_;
  size_t k_;
  test::SparseKind kind_;
  oracle::Op op_;
  int index_type_;
  bool too_small_;
  std::vector<test::SparseBuffer<T>> sends_;
  std::optional<SparseOutputs<T>> outputs_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_coordinates(const Plan& plan) {
  const test::Verb verb = plan.random.one_in(2) ? test::Verb::kGtopk : test::Verb::kSparse;
  if (!test::has_coordinate_form(plan.context.mode(verb))) return nullptr;
  return with_type_of(plan.tensor,
                      [&]<class T>(TypedTensor<T>& tensor) -> std::unique_ptr<RandomCall> {
                        if (plan.context.shards() && tensor.has_feedback()) return nullptr;
                        return std::make_unique<Coordinates<T>>(plan, tensor, verb);
                      });
}

}  // namespace sparsecoll::fault
