// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of push-sum with tensors on a device.

#include "devices/backends.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 333;

/// Makes steps with estimates, and a drain.
template <class T>
struct Steps {
  sparsecollPushSumConfig_t config;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const test::PushSum<T> state(context.comm, kCount, config);
    typename Backend::template Array<T> x(
        test::make_data<T>(test::Kind::kWideIntegers, kCount, context.rank, context.P, 1)),
        estimate(kCount);
    for (int step = 0; step < 5; ++step) {
      context.done(pushSumStep(x.get(), step % 2 ? estimate.get() : nullptr, kCount,
                               test::kDatatype<T>, state.handle(), context.comm, stream));
      context.record.add(x.read(stream));
    }
    context.record.add(estimate.read(stream));
    context.done(sparsecollPushSumDrain(state.handle(), x.get(), estimate.get(), stream));
    context.record.add(x.read(stream));
    context.record.add(estimate.read(stream));
    context.record.add(std::vector<double>{state.weight()});
  }
};

sparsecollPushSumConfig_t compressed() {
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.k = 20;
  config.mixing = 0.25;
  return config;
}

TEST_CASE("push-sum gives the same results on devices and on the host") {
  for (const int P : limit_rank_counts({1, 2, 3, 4, 5, 8, 9}))
    for (const test::GraphCase& graph : test::kGraphs) {
      CAPTURE(P, graph.name);
      CHECK(compare_backends(test::default_config(), P, Steps<float>{graph.config()}) == "");
    }
  for (const int P : limit_rank_counts({2, 3, 5})) {
    CHECK(compare_backends(test::default_config(), P, Steps<float>{compressed()}) == "");
    CHECK(compare_backends(test::default_config(), P, Steps<oracle::Bfloat16>{compressed()}) == "");
    CHECK(compare_backends(test::default_config(), P, Steps<double>{test::kExponential.config()}) ==
          "");
    CHECK(compare_backends(test::default_config(), P,
                           Steps<oracle::Float16>{test::kExponential.config()}) == "");
  }
}

/// With late messages the values of a rank depend on time, but their sums do not.
TEST_CASE("overlapping push-sum on devices conserves sums") {
  for (const int delay : {1, 2, -1}) {
    if (over_nccl() && delay < 0) continue;  // NCCL cannot keep messages for later
    sparsecollPushSumConfig_t config = test::kExponential.config();
    config.maxDelay = delay;
    const int P = std::min(4, max_ranks());
    const DeviceRanks ranks(P, test::default_config());
    std::vector<std::vector<double>> after(static_cast<std::size_t>(P));
    std::vector<std::vector<double>> before;
    for (int r = 0; r < P; ++r)
      before.push_back(test::make_data<double>(test::Kind::kIntegers, kCount, r, P, 6));
    const std::string verdict = ranks.run("overlap", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      Record ignored;
      const RankContext context{ranks.comm(rank), rank, P, ignored};
      const OwnStream stream;
      const test::PushSum<double> state(context.comm, kCount, config);
      DeviceArray<double> x(before[r]);
      for (int step = 0; step < 6; ++step)
        context.done(pushSumStep(x.get(), nullptr, kCount, sparsecollFloat64, state.handle(),
                                 context.comm, stream));
      context.done(sparsecollPushSumDrain(state.handle(), x.get(), nullptr, stream));
      after[r] = x.read(stream);
      return std::string();
    });
    CHECK(verdict == "");
    CHECK(test::sum_of(after) == test::sum_of(before));
  }
}

/// Saves a state on one backend, loads it for another, and goes on. Returns the results of the
/// ranks.
template <class T, class Before, class After>
std::vector<Record> saved_and_loaded(const test::Folder& folder) {
  const int P = std::min(3, max_ranks());
  const auto owned_ranks =
      make_ranks < Before::kDevice || After::kDevice > (P, test::default_config());
  const auto& ranks = *owned_ranks;
  std::vector<Record> records(static_cast<std::size_t>(P));
  const std::string verdict = ranks.run("save and load", [&](int rank) {
    const RankContext context{ranks.comm(rank), rank, P, records[static_cast<std::size_t>(rank)]};
    const std::string path = folder.file(rank);
    std::vector<T> x = test::make_data<T>(test::Kind::kHeavyTail, kCount, rank, P, 2);
    const auto steps = [&](auto backend, const test::PushSum<T>& state) {
      const typename decltype(backend)::Stream stream;
      typename decltype(backend)::template Array<T> on_backend(x);
      for (int step = 0; step < 3; ++step)
        context.done(pushSumStep(on_backend.get(), nullptr, kCount, test::kDatatype<T>,
                                 state.handle(), context.comm, stream));
      x = on_backend.read(stream);
      context.record.add(x);
    };
    {
      const test::PushSum<T> state(context.comm, kCount, compressed());
      steps(Before{}, state);
      context.expect(sparsecollPushSumSave(state.handle(), path.c_str()));
    }
    const test::PushSum<T> state(context.comm, kCount, compressed());
    context.expect(sparsecollPushSumLoad(state.handle(), path.c_str()));
    steps(After{}, state);
    return std::string();
  });
  CHECK(verdict == "");
  return records;
}

TEST_CASE("a state that one backend saved can be loaded for any backend") {
  const test::Folder folder;
  const auto want = saved_and_loaded<float, Host, Host>(folder);
  CHECK((saved_and_loaded<float, Gpu, Gpu>(folder) == want));
  if (over_nccl()) return;
  CHECK((saved_and_loaded<float, Host, Gpu>(folder) == want));
  CHECK((saved_and_loaded<float, Gpu, Host>(folder) == want));
}

}  // namespace
}  // namespace sparsecoll::devices
