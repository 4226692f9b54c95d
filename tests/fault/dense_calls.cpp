// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random calls of sparseAllreduce and gtopkAllreduce.

#include <sstream>

#include "fault/random_call.hpp"
#include "support/data.hpp"

namespace sparsecoll::fault {

namespace {

/// Returns a verb that takes the tensor's residuals, if it has any.
test::Verb random_verb(const Plan& plan, bool feedback) {
  const bool any = !plan.context.shards() || !feedback;
  return any && plan.random.one_in(2) ? test::Verb::kGtopk : test::Verb::kSparse;
}

template <class T>
class Dense final : public RandomCall {
 public:
  Dense(const Plan& plan, TypedTensor<T>& tensor)
      : tensor_(tensor),
        mode_(plan.context.mode(random_verb(plan, tensor.has_feedback()))),
        n_(tensor.n()),
        k_(random_k(plan.random, n_, plan.context.reuses())),
        kind_(plan.random.pick(test::kAllKinds)),
        op_(plan.random.one_in(3) ? oracle::Op::kAvg : oracle::Op::kSum),
        in_place_(plan.random.one_in(3)),
        sends_(test::make_data_of_all<T>(kind_, n_, plan.context.P, plan.random.seed())),
        recvs_(in_place_ ? sends_
                         : oracle::PerRank<std::vector<T>>(
                               sends_.size(), std::vector<T>(n_, static_cast<T>(-77.0f)))),
        initial_recvs_(recvs_) {
    if (plan.refused) return;
    const oracle::DenseInputs<T> in{sends_, tensor.before()};
    const bool replayed = plan.context.reuses() && mode_.verb == test::Verb::kSparse;
    const auto want =
        replayed ? replay_of<T>(plan.context, kDenseForm, n_, k_, op_).sparse_allreduce(in, op_)
                 : test::expected<T>(mode_, in, k_, op_);
    want_ = want.result;
    tensor.set_after(want.residuals);
  }

  std::string describe() const override {
    std::ostringstream out;
    out << mode_.name << " " << test::name_of(test::kDatatype<T>) << " n=" << n_ << " k=" << k_
        << " data='" << test::name_of(kind_) << "' " << test::name_of(op_)
        << (in_place_ ? " in place" : "");
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const auto r = static_cast<size_t>(rank);
    const auto function = mode_.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    T* recv = recvs_[r].data();
    const T* send = in_place_ ? recv : sends_[r].data();
    const bool null = bad_argument == BadArgument::kNull && n_ > 0;
    const bool enumerator =
        bad_argument == BadArgument::kEnumerator || (bad_argument == BadArgument::kNull && !null);
    return function(
        null ? nullptr : send, recv, n_, k_, test::kDatatype<T>,
        enumerator ? static_cast<sparsecollRedOp_t>(3) : test::op_of(op_), tensor_.handle(rank),
        comm,
        bad_argument == BadArgument::kStream ? reinterpret_cast<sparsecollStream_t>(&n_) : nullptr);
  }

  bool truncates(int) const override { return false; }
  std::string check_output(int rank, sparsecollComm_t, bool) override {
    return test::difference("recvbuff", recvs_[static_cast<size_t>(rank)], want_);
  }
  std::string check_untouched(int rank) const override {
    const auto r = static_cast<size_t>(rank);
    return test::difference("recvbuff", recvs_[r], initial_recvs_[r]);
  }

 private:
  TypedTensor<T>& tensor_;
  test::Mode mode_;
  size_t n_;
  size_t k_;
  test::Kind kind_;
  oracle::Op op_;
  bool in_place_;
  oracle::PerRank<std::vector<T>> sends_;
  oracle::PerRank<std::vector<T>> recvs_;
  oracle::PerRank<std::vector<T>> initial_recvs_;
  std::vector<T> want_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_dense(const Plan& plan) {
  return with_type_of(plan.tensor,
                      [&]<class T>(TypedTensor<T>& tensor) -> std::unique_ptr<RandomCall> {
                        return std::make_unique<Dense<T>>(plan, tensor);
                      });
}

}  // namespace sparsecoll::fault
