// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Random calls of sparseAllreducev and gtopkAllreducev on integers. Sums wrap around and are exact.

#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "fault/sparse_outputs.hpp"

namespace sparsecoll::fault {

namespace {

template <class T>
class Integers final : public RandomCall {
 public:
  Integers(const Plan& plan, size_t n, test::Verb verb)
      : verb_(verb),
        index_type_(random_index_type(plan.random)),
        count_(index_type_ == sparsecollIndex64 && plan.random.one_in(3) ? kLengthOffset + n : n),
        kind_(plan.random.pick(test::kAllSparseKinds)) {
    auto sends = test::make_sparse_of_all<T>(kind_, count_, plan.context.P, plan.random.seed());
    std::map<uint64_t, uint64_t> sums;  // modulo 2^64
    for (auto& send : sends) {
      for (auto& entry : send) {
        if (plan.random.one_in(3)) entry.value = plan.random.pick(kExtremes);
        sums[entry.index] += static_cast<uint64_t>(int64_t{entry.value});
      }
      sends_.emplace_back(count_, index_type_, send);
    }
    oracle::Sparse<T> want;
    for (const auto& [index, sum] : sums) want.push_back({index, static_cast<T>(sum)});
    if (plan.refused) want.clear();
    outputs_.emplace(oracle::PerRank<oracle::Sparse<T>>(sends_.size(), want), index_type_,
                     plan.may_truncate && plan.random.one_in(4));
  }

  std::string describe() const override {
    std::ostringstream out;
    out << (verb_ == test::Verb::kGtopk ? "gtopkAllreducev " : "sparseAllreducev ")
        << test::name_of(test::kDatatype<T>) << " count=" << count_ << " data='"
        << test::name_of(kind_) << "' index type " << index_type_;
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) override {
    const auto function = verb_ == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
    // sparsecollAvg is a bad argument for integers.
    return function(
        bad_argument == BadArgument::kNull ? nullptr : sends_[static_cast<size_t>(rank)].get(),
        outputs_->get(rank), SPARSECOLL_ALL,
        bad_argument == BadArgument::kEnumerator ? sparsecollAvg : sparsecollSum, nullptr, comm,
        bad_argument == BadArgument::kStream ? reinterpret_cast<sparsecollStream_t>(this)
                                             : nullptr);
  }

  bool truncates(int rank) const override { return outputs_->too_small(rank); }
  std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) override {
    return outputs_->check(rank, comm, may_fetch);
  }
  std::string check_untouched(int rank) const override { return outputs_->check_untouched(rank); }

 private:
  /// Added to n for very long vectors, so that lengths of tensors stay different.
  static constexpr uint64_t kLengthOffset = uint64_t{1} << 40;
  static constexpr T kExtremes[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                                    std::numeric_limits<T>::max() - 5, -1, 0};

  test::Verb verb_;
  int index_type_;
  uint64_t count_;
  test::SparseKind kind_;
  std::vector<test::SparseBuffer<T>> sends_;
  std::optional<SparseOutputs<T>> outputs_;
};

}  // namespace

std::unique_ptr<RandomCall> plan_integers(const Plan& plan) {
  const test::Verb verb = plan.random.one_in(2) ? test::Verb::kGtopk : test::Verb::kSparse;
  if (!test::has_coordinate_form(plan.context.mode(verb))) return nullptr;
  const size_t n = with_type_of(plan.tensor, [](const auto& tensor) { return tensor.n(); });
  if (plan.random.one_in(2)) return std::make_unique<Integers<int32_t>>(plan, n, verb);
  return std::make_unique<Integers<int64_t>>(plan, n, verb);
}

}  // namespace sparsecoll::fault
