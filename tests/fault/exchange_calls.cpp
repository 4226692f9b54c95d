// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random calls of sparseReduceScatter and sparseAlltoall.

#include <optional>
#include <sstream>

#include "fault/sparse_outputs.hpp"
#include "oracle/wire.hpp"
#include "support/exchange_sweep.hpp"

namespace sparsecoll::fault {

namespace {

/// Returns bounds that no verb accepts: the first one is beyond the last.
std::vector<size_t> wrong_bounds(std::vector<size_t> bounds) {
  bounds.front() = bounds.back() + 1;
  return bounds;
}

oracle::PerRank<uint64_t> wide(const std::vector<size_t>& bounds) {
  return {bounds.begin(), bounds.end()};
}

/// Returns bounds of this kind; with shards, bounds that agree with them.
std::vector<size_t> bounds_for(const Plan& plan, test::BoundsKind kind, size_t n) {
  if (!plan.context.shards()) return test::make_bounds(kind, n, plan.context.P, plan.random.seed());
  const auto ranks = static_cast<size_t>(plan.context.P);
  return test::bounds_on_first_node(n, ranks,
                                    test::nodes_of(plan.context.mode(test::Verb::kSparse), ranks));
}

template <class T>
class ReduceScatter final : public RandomCall {
 public:
  ReduceScatter(const Plan& plan, TypedTensor<T>& tensor)
      : tensor_(tensor),
        n_(tensor.n()),
        k_(random_k(plan.random, n_, false)),
        kind_(plan.random.pick(test::kAllKinds)),
        op_(plan.random.one_in(3) ? oracle::Op::kAvg : oracle::Op::kSum),
        regions_(plan.context.shards() ? test::BoundsKind::kRandom
                                       : plan.random.pick(test::kAllBoundsKinds)),
        bounds_(bounds_for(plan, regions_, n_)),
        wrong_bounds_(wrong_bounds(bounds_)),
        sends_(test::make_data_of_all<T>(kind_, n_, plan.context.P, plan.random.seed())) {
    oracle::PerRank<oracle::Sparse<T>> want(sends_.size());
    if (!plan.refused) {
      const oracle::DenseInputs<T> in{sends_, tensor.before()};
      const auto mode = plan.context.mode(test::Verb::kSparse);
      const auto outcome =
          plan.context.shards()
              ? oracle::ShardedOracle<T>::reduce_scatter(
                    in, test::sharded_call(mode, k_, op_, sends_.size()), wide(bounds_))
          : plan.context.wire() != oracle::Wire::kNative
              ? oracle::WireOracle<T>::reduce_scatter(in, k_, op_, wide(bounds_),
                                                      plan.context.wire())
              : oracle::ExchangeOracle<T>::reduce_scatter(in, k_, op_, bounds_);
      want = outcome.result;
      tensor.set_after(outcome.residuals);
    }
    outputs_.emplace(want, random_index_type(plan.random),
                     plan.may_truncate && plan.random.one_in(4));
  }

  std::string describe() const override {
    std::ostringstream out;
    out << "sparseReduceScatter " << test::name_of(test::kDatatype<T>) << " n=" << n_ << " k=" << k_
        << " data='" << test::name_of(kind_) << "' bounds='" << test::name_of(regions_) << "' "
        << test::name_of(op_);
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const size_t* bounds = regions_ == test::BoundsKind::kNull ? nullptr : bounds_.data();
    return sparseReduceScatter(
        sends_[static_cast<size_t>(rank)].data(), outputs_->get(rank), n_, k_, test::kDatatype<T>,
        bad_argument == BadArgument::kEnumerator ? static_cast<sparsecollRedOp_t>(3)
                                                 : test::op_of(op_),
        bad_argument == BadArgument::kNull ? wrong_bounds_.data() : bounds, tensor_.handle(rank),
        comm,
        bad_argument == BadArgument::kStream ? reinterpret_cast<sparsecollStream_t>(&k_) : nullptr);
  }

  bool truncates(int rank) const override { return outputs_->too_small(rank); }
  std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) override {
    return outputs_->check(rank, comm, may_fetch);
  }
  std::string check_untouched(int rank) const override { return outputs_->check_untouched(rank); }

 private:
  TypedTensor<T>& tensor_;
  size_t n_;
  size_t k_;
  test::Kind kind_;
  oracle::Op op_;
  test::BoundsKind regions_;
  std::vector<size_t> bounds_;
  std::vector<size_t> wrong_bounds_;
  oracle::PerRank<std::vector<T>> sends_;
  std::optional<SparseOutputs<T>> outputs_;
};

template <class T>
class Alltoall final : public RandomCall {
 public:
  Alltoall(const Plan& plan, size_t n)
      : n_(n),
        kind_(plan.random.pick(test::kAllSparseKinds)),
        regions_(plan.random.pick(test::kAllBoundsKinds)),
        bounds_(test::make_bounds(regions_, n_, plan.context.P, plan.random.seed())),
        wrong_bounds_(wrong_bounds(bounds_)),
        counts_(static_cast<size_t>(plan.context.P),
                std::vector<size_t>(static_cast<size_t>(plan.context.P), kUntouched)) {
    const int index_type = random_index_type(plan.random);
    const auto sends = test::make_sparse_of_all<T>(kind_, n_, plan.context.P, plan.random.seed());
    for (const auto& send : sends) sends_.emplace_back(n_, index_type, send);
    oracle::PerRank<oracle::Sparse<T>> want;
    for (const auto& each : oracle::alltoall(sends, bounds_)) {
      want.push_back(each.entries);
      want_counts_.push_back(each.counts);
    }
    outputs_.emplace(want, index_type, plan.may_truncate && plan.random.one_in(4));
  }

  std::string describe() const override {
    std::ostringstream out;
    out << "sparseAlltoall " << test::name_of(test::kDatatype<T>) << " n=" << n_ << " data='"
        << test::name_of(kind_) << "' bounds='" << test::name_of(regions_) << "'";
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const auto r = static_cast<size_t>(rank);
    const size_t* bounds = regions_ == test::BoundsKind::kNull ? nullptr : bounds_.data();
    return sparseAlltoall(
        bad_argument == BadArgument::kNull ? nullptr : sends_[r].get(), outputs_->get(rank),
        counts_[r].data(), bad_argument == BadArgument::kEnumerator ? wrong_bounds_.data() : bounds,
        comm,
        bad_argument == BadArgument::kStream ? reinterpret_cast<sparsecollStream_t>(&n_) : nullptr);
  }

  bool truncates(int rank) const override { return outputs_->too_small(rank); }
  std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) override {
    const auto r = static_cast<size_t>(rank);
    const std::string verdict = outputs_->check(rank, comm, may_fetch);
    return verdict.empty() ? test::difference("recvcounts", counts_[r], want_counts_[r]) : verdict;
  }
  std::string check_untouched(int rank) const override {
    for (const size_t count : counts_[static_cast<size_t>(rank)])
      if (count != kUntouched) return "recvcounts were written";
    return outputs_->check_untouched(rank);
  }

 private:
  static constexpr size_t kUntouched = 0xabad1dea;

  size_t n_;
  test::SparseKind kind_;
  test::BoundsKind regions_;
  std::vector<size_t> bounds_;
  std::vector<size_t> wrong_bounds_;
  std::vector<test::SparseBuffer<T>> sends_;
  std::vector<std::vector<size_t>> counts_;
  std::vector<std::vector<size_t>> want_counts_;
  std::optional<SparseOutputs<T>> outputs_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_reduce_scatter(const Plan& plan) {
  return with_type_of(plan.tensor,
                      [&]<class T>(TypedTensor<T>& tensor) -> std::unique_ptr<RandomCall> {
                        return std::make_unique<ReduceScatter<T>>(plan, tensor);
                      });
}

std::unique_ptr<RandomCall> plan_alltoall(const Plan& plan) {
  const sparsecollDataType_t types[] = {sparsecollInt32,   sparsecollInt64,   sparsecollFloat16,
                                        sparsecollFloat32, sparsecollFloat64, sparsecollBfloat16};
  const size_t n = with_type_of(plan.tensor, [](const auto& tensor) { return tensor.n(); });
  return test::with_any_type(plan.random.pick(types),
                             [&](auto zero) -> std::unique_ptr<RandomCall> {
                               return std::make_unique<Alltoall<decltype(zero)>>(plan, n);
                             });
}

}  // namespace sparsecoll::fault
