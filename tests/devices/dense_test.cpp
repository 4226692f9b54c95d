// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the dense verbs with device memory. Results and residuals of several calls equal those
// of the oracles bit for bit.

#include "devices/device_array.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/config.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::devices {
namespace {

using test::Mode;

constexpr Mode kModes[] = {test::kAuto,       test::kAllgather,    test::kOktopk,
                           test::kTopkA2A,    test::kDense,        test::kGtopk,
                           test::kGtopkPaper, test::kHierarchical, test::kSharded};

/// Makes calls one after another on device buffers of all ranks, with residuals.
template <class T>
class Run {
 public:
  Run(const test::Ranks& ranks, const Mode& mode, std::size_t n, std::size_t k)
      : ranks_(ranks),
        mode_(mode),
        n_(n),
        k_(k),
        streams_(static_cast<std::size_t>(ranks.size())),
        handles_(test::make_residuals<T>(ranks.comms(), n, true)) {
    for (int r = 0; r < ranks.size(); ++r) {
      send_.emplace_back(n);
      recv_.emplace_back(n);
      in_.residuals.emplace_back(n, oracle::Wide<T>{0});
    }
  }

  std::string step(const std::vector<std::vector<T>>& gradients, oracle::Op op, bool in_place) {
    in_.sends = gradients;
    const auto want = test::expected<T>(mode_, in_, k_, op);
    const std::string verdict = ranks_.run(mode_.name, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const OwnStream& stream = streams_[r];
      DeviceArray<T>& to = in_place ? send_[r] : recv_[r];
      send_[r].put(gradients[r], stream);
      const auto verb = mode_.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
      const auto got = verb(send_[r].get(), to.get(), n_, k_, test::kDatatype<T>, test::op_of(op),
                            handles_[r].handle(), ranks_.comm(rank), stream);
      if (got != sparsecollSuccess) return test::explain(got, ranks_.comm(rank));
      if (test::queued_run()) check(sparsecollCommStreamWait(ranks_.comm(rank), stream));
      std::string wrong = test::difference("result", to.read(stream), want.result);
      if (wrong.empty())
        wrong = test::difference("residual", handles_[r].read(), want.residuals[r]);
      return wrong;
    });
    in_.residuals = want.residuals;
    return verdict;
  }

 private:
  static void check(sparsecollResult_t result) {
    if (result != sparsecollSuccess) throw std::runtime_error(sparsecollGetErrorString(result));
  }

  const test::Ranks& ranks_;
  const Mode& mode_;
  std::size_t n_, k_;
  std::vector<OwnStream> streams_;
  std::vector<test::Residual<T>> handles_;
  std::vector<DeviceArray<T>> send_, recv_;
  oracle::DenseInputs<T> in_;
};

template <class T>
void check_calls(const Mode& mode, int P, std::size_t n, std::size_t k) {
  P = std::min(P, max_ranks());
  const DeviceRanks ranks(P, test::config_of(mode));
  Run<T> run(ranks, mode, n, k);
  std::uint64_t seed = test::base_seed();
  for (const test::Kind kind :
       {test::Kind::kHeavyTail, test::Kind::kIntegers, test::Kind::kNotFinite}) {
    CAPTURE(mode.name, P, n, k, test::name_of(kind), test::name_of(test::kDatatype<T>));
    const auto op = seed % 2 == 0 ? oracle::Op::kSum : oracle::Op::kAvg;
    CHECK(run.step(test::make_data_of_all<T>(kind, n, P, seed), op, seed % 3 == 0) == "");
    ++seed;
  }
}

TEST_CASE("every algorithm on device buffers gives the result of the definition, P = 1 to 9") {
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8, 9}, some{1, 2, 3, 8};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const Mode& mode : kModes) check_calls<float>(mode, P, 301, 17);
}

TEST_CASE("every algorithm on device buffers rounds values that are sent as defined") {
  const std::vector<int> all{1, 2, 3, 4, 5, 8}, some{1, 3};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const Mode& mode : test::kRoundingModes) check_calls<float>(mode, P, 301, 17);
}

TEST_CASE("every data type") {
  std::vector<Mode> modes(std::begin(kModes), std::end(kModes));
  modes.insert(modes.end(), std::begin(test::kRoundingModes), std::end(test::kRoundingModes));
  for (const Mode& mode : modes) {
    check_calls<double>(mode, 3, 200, 9);
    check_calls<oracle::Float16>(mode, 3, 200, 9);
    check_calls<oracle::Bfloat16>(mode, 3, 200, 9);
  }
}

TEST_CASE("smallest and largest lengths and k") {
  const std::vector<std::size_t> all{0, 1, 2, 1000}, ends{0, 1, 1000};
  for (const Mode& mode : kModes)
    for (const std::size_t n : test::small_run() ? ends : all)
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n, n + 5})
        check_calls<float>(mode, 3, n, k);
}

TEST_CASE("residuals stay where acc is not finite; over NCCL the setting is refused") {
  if (over_nccl()) {
    CHECK_THROWS_AS(DeviceRanks(1, test::config_of(test::skipping(test::kGtopk))),
                    std::runtime_error);
    return;
  }
  for (const Mode& mode : kModes) {
    check_calls<float>(test::skipping(mode), 3, 301, 17);
    check_calls<float>(test::skipping(mode), 4, 301, 2);
    check_calls<oracle::Float16>(test::skipping(mode), 3, 200, 0);
  }
}

}  // namespace
}  // namespace sparsecoll::devices
