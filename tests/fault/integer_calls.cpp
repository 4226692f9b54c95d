// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// sparseAllreducev and gtopkAllreducev of integers in a random schedule: exact sums that wrap.

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
        index_type_(random_index_type(plan.dice)),
        count_(index_type_ == sparsecollIndex64 && plan.dice.one_in(3) ? kFar + n : n),
        kind_(plan.dice.one_of(test::kAllSparseKinds)) {
    auto sends = test::make_sparse_of_all<T>(kind_, count_, plan.world.P, plan.dice.seed());
    std::map<uint64_t, uint64_t> sums;  // modulo 2^64
    for (auto& send : sends) {
      for (auto& entry : send) {
        if (plan.dice.one_in(3)) entry.value = plan.dice.one_of(kEnds);
        sums[entry.index] += static_cast<uint64_t>(int64_t{entry.value});
      }
      sends_.emplace_back(count_, index_type_, send);
    }
    oracle::Sparse<T> want;
    for (const auto& [index, sum] : sums) want.push_back({index, static_cast<T>(sum)});
    if (plan.refused) want.clear();
    outputs_.emplace(oracle::PerRank<oracle::Sparse<T>>(sends_.size(), want), index_type_,
                     plan.may_truncate && plan.dice.one_in(4));
  }

  std::string describe() const override {
    std::ostringstream out;
    out << (verb_ == test::Verb::kGtopk ? "gtopkAllreducev " : "sparseAllreducev ")
        << test::name_of(test::kDatatype<T>) << " count=" << count_ << " data='"
        << test::name_of(kind_) << "' index type " << index_type_;
    return out.str();
  }

  sparsecollResult_t make(int rank, sparsecollComm_t comm, Flaw flaw) override {
    const auto function = verb_ == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
    // Integers are not divided.
    return function(flaw == Flaw::kNull ? nullptr : sends_[static_cast<size_t>(rank)].get(),
                    outputs_->get(rank), SPARSECOLL_ALL,
                    flaw == Flaw::kEnumerator ? sparsecollAvg : sparsecollSum, nullptr, comm,
                    flaw == Flaw::kStream ? reinterpret_cast<sparsecollStream_t>(this) : nullptr);
  }

  bool truncates(int rank) const override { return outputs_->too_small(rank); }
  std::string check_output(int rank, sparsecollComm_t comm, bool fetches) override {
    return outputs_->check(rank, comm, fetches);
  }
  std::string check_untouched(int rank) const override { return outputs_->check_untouched(rank); }

 private:
  static constexpr uint64_t kFar = uint64_t{1} << 40;  ///< added to n, so that lengths stay apart
  static constexpr T kEnds[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
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
  const test::Verb verb = plan.dice.one_in(2) ? test::Verb::kGtopk : test::Verb::kSparse;
  if (!test::has_coordinate_form(plan.world.mode(verb))) return nullptr;
  const size_t n = with_type_of(plan.tensor, [](const auto& tensor) { return tensor.n(); });
  if (plan.dice.one_in(2)) return std::make_unique<Integers<int32_t>>(plan, n, verb);
  return std::make_unique<Integers<int64_t>>(plan, n, verb);
}

}  // namespace sparsecoll::fault
