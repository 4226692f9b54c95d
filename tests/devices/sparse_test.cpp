// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of verbs in coordinate form and of the local functions with device memory.

#include "devices/coordinate_calls.hpp"
#include "support/catch.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 900;
constexpr VectorShape kShape{kCount};

TEST_CASE("verbs in coordinate form give the same results on devices and on the host") {
  const std::vector<int> all{1, 2, 3, 4, 5, 7, 8, 9}, some{1, 2, 3, 8};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const test::Verb verb : {test::Verb::kSparse, test::Verb::kGtopk})
      for (const std::size_t k : {std::size_t{15}, SPARSECOLL_ALL}) {
        CAPTURE(P, static_cast<int>(verb), k);
        // The choices of Auto depend on measured times, and so would the number of bytes sent.
        const auto config = test::config_of(P % 2 == 0 ? test::kOktopk : test::kAllgather);
        CHECK(compare_backends(
                  config, P,
                  Reduce<float>{verb, test::SparseKind::kHeavyTail, k, kShape, P % 2 == 0}) == "");
      }
}

/// Sends all entries of two ranks in messages of more than one chunk.
struct LongMessages {
  static constexpr std::size_t kLong = 150000;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    oracle::Sparse<double> entries;
    for (std::size_t i = 0; i < kLong; ++i)
      entries.push_back(
          {2 * i + static_cast<std::size_t>(context.rank), static_cast<double>(i % 77)});
    BackendSparse<Backend, double> send(2 * kLong, entries), recv(2 * kLong, 2 * kLong);
    context.done(gtopkAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                 context.comm, stream),
                 sparsecollSuccess);
    context.record.add_stats(context.comm);
    context.record.add(recv.entries(stream));
  }
};

TEST_CASE("messages of several chunks") {
  const auto config = test::default_config();
  CHECK(compare_backends(config, 2, LongMessages{}) == "");
}

TEST_CASE("special values, every data type, results that do not fit") {
  for (const test::SparseKind kind : test::kAllSparseKinds) {
    CAPTURE(test::name_of(kind));
    const auto config = test::config_of(test::kOktopk);
    const auto check = [&](const auto& scenario) {
      CHECK(compare_backends(config, 3, scenario) == "");
    };
    check(Reduce<double>{test::Verb::kSparse, kind, 20, kShape});
    check(Reduce<oracle::Float16>{test::Verb::kGtopk, kind, 20, kShape, true});
    check(Reduce<oracle::Bfloat16>{test::Verb::kSparse, kind, SPARSECOLL_ALL, kShape});
  }
  CHECK(compare_backends(test::config_of(test::kOktopk), 2,
                         Reduce<float>{test::Verb::kSparse, test::SparseKind::kFull, 30, kShape,
                                       true, 7}) == "");
}

TEST_CASE("exchanges and integers give the same results on devices and on the host") {
  const std::vector<int> all{1, 2, 3, 5, 8}, some{2, 5};
  for (const int P : limit_rank_counts(test::small_run() ? some : all)) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P,
                           Exchange<float>{kShape, 2 * kCount * static_cast<unsigned>(P)}) == "");
    CHECK(compare_backends(config, P, Exchange<oracle::Bfloat16>{kShape, 3}) == "");
    CHECK(compare_backends(config, P, Integers{kShape}) == "");
  }
}

/// Does the work of a dense verb with sparsecollTopk, sparseAllreducev and sparsecollScatter.
template <class T>
struct LocalFunctions {
  bool count_on_device;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(context.comm, kCount);
    typename Backend::template Array<T> dense(kCount);
    BackendSparse<Backend, T> top(kCount, 30), sum(kCount, kCount);
    for (std::uint64_t call = 0; call < 3; ++call) {
      dense.put(test::make_data<T>(test::Kind::kHeavyTail, kCount, context.rank, context.P, call),
                stream);
      if (count_on_device) {
        top.count_on_device(0);
        sum.count_on_device(0);
      }
      context.done(sparsecollTopk(dense.get(), kCount, 30, test::kDatatype<T>, residual.handle(),
                                  top.get(), context.comm, stream));
      context.record.add(top.entries(stream));
      context.done(sparseAllreducev(top.get(), sum.get(), 30, sparsecollAvg, residual.handle(),
                                    context.comm, stream));
      context.done(sparsecollScatter(sum.get(), dense.get(), context.comm, stream));
      if (test::queued_run()) context.expect(sparsecollCommStreamWait(context.comm, stream));
      context.record.add(dense.read(stream));
      context.record.add(residual.read());
    }
  }
};

TEST_CASE("local functions give the same results on devices and on the host") {
  for (const bool count_on_device : {false, true}) {
    CHECK(compare_backends(test::default_config(), 3, LocalFunctions<float>{count_on_device}) ==
          "");
    CHECK(compare_backends(test::default_config(), 2,
                           LocalFunctions<oracle::Float16>{count_on_device}) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::devices
