// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests groups with errors, and groups within groups.

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/sparse_data.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kCount = 100;

/// The groups of one rank, of two calls each. On this rank the second call may be bad.
class Group {
 public:
  Group(sparsecollComm_t comm, std::size_t ranks, bool bad)
      : comm_(comm), bad_(bad), alone_(ranks == 1), residual_(comm, kCount), borders_(ranks + 1) {}

  struct Case {
    const char* name;
    void (Group::*second)();
    sparsecollResult_t own, others;
    const char* words;
    bool differs_only =
        false;  ///< the call is valid and only differs from those of the other ranks
  };

  /// Returns "" if the group ended with the expected result and, unless it succeeded, changed
  /// nothing.
  std::string check(const Case& each) {
    sum_.assign(kCount + 10, 7.0f);
    residual_.write(std::vector<float>(kCount));
    const sparsecollResult_t got = in_group(comm_, [&] {
      call(sum_.data(), 5, residual_.handle());
      (this->*each.second)();
    });
    const bool good = alone_ && each.differs_only;
    const sparsecollResult_t want = good ? sparsecollSuccess : bad_ ? each.own : each.others;
    if (got != want) return std::string(each.name) + ": " + explain(got, comm_);
    if (good) return "";
    if (std::string(sparsecollGetLastError(comm_)).find(each.words) == std::string::npos)
      return std::string(each.name) + ": message " + sparsecollGetLastError(comm_);
    return untouched() ? "" : std::string(each.name) + ": something was touched";
  }

  void bad_argument() { call(bad_ ? nullptr : other_.data(), 5, nullptr); }
  void other_k() { call(other_.data(), bad_ ? 6 : 5, nullptr); }
  void one_call_more() {
    if (bad_) call(other_.data(), 5, nullptr);
  }
  void same_residual() { call(other_.data(), 5, bad_ ? residual_.handle() : nullptr); }
  void output_is_input() {
    sparseAllreduce(bad_ ? sum_.data() : input_.data(), other_.data(), kCount, 5, sparsecollFloat32,
                    sparsecollSum, nullptr, comm_, nullptr);
  }
  void output_is_bounds() {
    const std::size_t P = borders_.size() - 1;
    for (std::size_t r = 0; r <= P; ++r) borders_[r] = r * kCount / P;
    sparseAlltoall(send_.get(), recv_.get(), borders_.data(), nullptr, comm_, nullptr);
    sparseReduceScatter(input_.data(), part_.get(), kCount, 5, sparsecollFloat32, sparsecollSum,
                        bad_ ? borders_.data() : nullptr, nullptr, comm_, nullptr);
  }
  /// Sends the output of an earlier call of the group, whose numbers are not known before the group
  /// is done.
  void output_is_sent() {
    sparseAlltoall(send_.get(), recv_.get(), nullptr, nullptr, comm_, nullptr);
    sparseAlltoall(bad_ ? recv_.get() : send_.get(), part_.get(), nullptr, nullptr, comm_, nullptr);
  }
  void same_output() { call(bad_ ? sum_.data() + 10 : other_.data(), 5, nullptr); }

  /// Returns the sum of ones over the ranks.
  float works() {
    const sparsecollResult_t result =
        in_group(comm_, [&] { call(other_.data(), 5, residual_.handle()); });
    return result == sparsecollSuccess ? other_[0] : -1.0f;
  }

 private:
  void call(float* out, std::size_t k, sparsecollResidual_t residual) {
    sparseAllreduce(input_.data(), out, kCount, k, sparsecollFloat32, sparsecollSum, residual,
                    comm_, nullptr);
  }
  bool untouched() const {
    const auto all = [](const std::vector<float>& values, float value) {
      return std::all_of(values.begin(), values.end(), [value](float v) { return v == value; });
    };
    return all(sum_, 7.0f) && all(residual_.read(), 0.0f);
  }

  sparsecollComm_t comm_;
  bool bad_;
  bool alone_;
  Residual<float> residual_;
  std::vector<float> input_ = std::vector<float>(kCount, 1.0f);
  std::vector<float> sum_;
  std::vector<std::size_t> borders_;
  SparseBuffer<float> send_{kCount, sparsecollIndex32, 1};
  SparseBuffer<float> recv_{kCount, sparsecollIndex32, kCount};
  SparseBuffer<float> part_{kCount, sparsecollIndex32, kCount};
  std::vector<float> other_ = std::vector<float>(kCount, 7.0f);
};

const Group::Case kCases[] = {
    {"bad argument", &Group::bad_argument, sparsecollInvalidArgument, sparsecollInvalidUsage,
     "call 2 of the group"},
    {"other k", &Group::other_k, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "call 2 of the group: k", true},
    {"one call more", &Group::one_call_more, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "number of calls", true},
    {"same residual", &Group::same_residual, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "residual"},
    {"output is input", &Group::output_is_input, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "depend"},
    {"output is bounds", &Group::output_is_bounds, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "depend"},
    {"output is sent", &Group::output_is_sent, sparsecollInvalidUsage, sparsecollInvalidUsage,
     "depend"},
    {"same output", &Group::same_output, sparsecollInvalidUsage, sparsecollInvalidUsage, "depend"}};

TEST_CASE("an error voids the whole group, on all ranks, and the communicator goes on") {
  for (const int P : {1, 2, 3, 5}) {
    const Ranks ranks(P, default_config());
    CHECK(ranks.run("void", [&](int rank) -> std::string {
      Group group(ranks.comm(rank), static_cast<std::size_t>(P), rank == P - 1);
      for (const Group::Case& each : kCases) {
        const std::string wrong = group.check(each);
        if (!wrong.empty()) return wrong;
      }
      return group.works() == static_cast<float>(P) ? "" : "it does not go on";
    }) == "");
  }
}

TEST_CASE("the end of a group that could not be opened tells why it could not") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(sparsecollCommAbort(comm) == sparsecollSuccess);
  const sparsecollResult_t opened = sparsecollGroupStart(comm);
  const std::string why = sparsecollGetLastError(comm);
  CHECK(why.find("aborted") != std::string::npos);
  CHECK(sparsecollGroupEnd(comm) == opened);
  CHECK(std::string(sparsecollGetLastError(comm)).find("aborted") != std::string::npos);
}

TEST_CASE("groups nest, may be empty, and refuse what cannot be in them") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("nesting", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::uint64_t before = 0, after = 0;
    sparsecollCommGetSequence(comm, &before);
    std::string verdict = expect("empty", in_group(comm, [] {}), sparsecollSuccess, comm);
    verdict += expect("end without start", sparsecollGroupEnd(comm), sparsecollInvalidUsage, comm);
    sparsecollCommGetSequence(comm, &after);
    if (before != after) verdict += "an empty group counted as a call; ";
    std::vector<float> x(10, 1.0f), y(10);
    verdict += expect("nested",
                      in_group(comm,
                               [&] {
                                 sparsecollGroupStart(comm);
                                 sparseAllreduce(x.data(), y.data(), 10, 10, sparsecollFloat32,
                                                 sparsecollSum, nullptr, comm, nullptr);
                                 sparsecollGroupEnd(comm);
                                 if (y[0] != 0.0f) verdict += "the inner end made the call; ";
                                 verdict += expect("destroy", sparsecollCommDestroy(comm),
                                                   sparsecollInvalidUsage, comm);
                                 verdict += expect("synchronize", sparsecollCommSynchronize(comm),
                                                   sparsecollInvalidUsage, comm);
                               }),
                      sparsecollSuccess, comm);
    if (y[9] != 3.0f) verdict += "wrong sum; ";
    sparsecollCommGetSequence(comm, &after);
    if (after != before + 1) verdict += "a group is one call; ";
    return verdict;
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
