// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of verbs in coordinate form and of the local functions with device memory.

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 900;

/// Returns this rank's entries of the given kind.
template <class T>
oracle::Sparse<T> entries_of(test::SparseKind kind, const RankContext& context,
                             std::uint64_t seed) {
  return test::make_sparse_of_all<T>(kind, kCount, context.P,
                                     seed)[static_cast<std::size_t>(context.rank)];
}

/// Calls sparseAllreducev or gtopkAllreducev twice with a residual.
template <class T>
struct Reduce {
  test::Verb verb;
  test::SparseKind kind;
  std::size_t k;
  std::size_t capacity;
  bool count_on_device;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(context.comm, kCount);
    for (std::uint64_t call = 0; call < 2; ++call) {
      BackendSparse<Backend, T> send(kCount, entries_of<T>(kind, context, call + 1));
      BackendSparse<Backend, T> recv(kCount, capacity);
      if (count_on_device) {
        send.count_on_device(send.get()->nnz);
        recv.count_on_device(0);
      }
      const auto function = verb == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
      const bool fits = capacity >= kCount;
      context.done(function(send.get(), recv.get(), k, sparsecollAvg, residual.handle(),
                            context.comm, stream),
                   fits ? sparsecollSuccess : sparsecollTruncated);
      context.record.add(std::uint64_t{recv.get()->needed});
      context.record.add_stats(context.comm);
      if (!fits) {
        BackendSparse<Backend, T> larger(kCount, recv.get()->needed);
        context.expect(sparsecollFetch(larger.get(), nullptr, context.comm, stream));
        context.record.add(larger.entries(stream));
      }
      context.record.add(recv.entries(stream));
      context.record.add(residual.read());
    }
  }
};

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
                  Reduce<float>{verb, test::SparseKind::kHeavyTail, k, kCount, P % 2 == 0}) == "");
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
    check(Reduce<double>{test::Verb::kSparse, kind, 20, kCount, false});
    check(Reduce<oracle::Float16>{test::Verb::kGtopk, kind, 20, kCount, true});
    check(Reduce<oracle::Bfloat16>{test::Verb::kSparse, kind, SPARSECOLL_ALL, kCount, false});
  }
  CHECK(compare_backends(
            test::config_of(test::kOktopk), 2,
            Reduce<float>{test::Verb::kSparse, test::SparseKind::kFull, 30, 7, true}) == "");
}

/// Adds integers, which is exact.
struct Integers {
  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    BackendSparse<Backend, std::int64_t> send(
        kCount, entries_of<std::int64_t>(test::SparseKind::kRandom, context, 3));
    BackendSparse<Backend, std::int64_t> recv(kCount, kCount);
    context.done(sparseAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                  context.comm, stream));
    context.record.add(recv.entries(stream));
  }
};

/// Calls sparseAlltoall and sparseReduceScatter with outputs that are large enough or too small.
template <class T>
struct Exchange {
  std::size_t capacity;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto P = static_cast<std::size_t>(context.P);
    BackendSparse<Backend, T> send(kCount, entries_of<T>(test::SparseKind::kRandom, context, 9));
    BackendSparse<Backend, T> recv(kCount, capacity);
    std::vector<std::size_t> counts(P), bounds(P + 1, kCount);
    for (std::size_t r = 0; r < P; ++r) bounds[r] = r * r * 10;  // the last region is the largest
    auto done =
        sparseAlltoall(send.get(), recv.get(), counts.data(), bounds.data(), context.comm, stream);
    if (test::queued_run() && done == sparsecollSuccess)
      done = sparsecollCommSynchronize(context.comm);
    context.record.add(static_cast<std::uint64_t>(done));
    if (done == sparsecollTruncated) {
      BackendSparse<Backend, T> larger(kCount, recv.get()->needed);
      context.expect(sparsecollFetch(larger.get(), counts.data(), context.comm, stream));
      context.record.add(larger.entries(stream));
    } else {
      context.expect(done);
      context.record.add(recv.entries(stream));
    }
    for (const std::size_t each : counts) context.record.add(std::uint64_t{each});

    test::Residual<T> residual(context.comm, kCount);
    typename Backend::template Array<T> gradient(
        test::make_data<T>(test::Kind::kHeavyTail, kCount, context.rank, context.P, 4));
    BackendSparse<Backend, T> part(kCount, kCount);
    context.done(sparseReduceScatter(gradient.get(), part.get(), kCount, 25, test::kDatatype<T>,
                                     sparsecollSum, bounds.data(), residual.handle(), context.comm,
                                     stream));
    context.record.add(part.entries(stream));
    context.record.add(residual.read());
    context.record.add_stats(context.comm);
  }
};

TEST_CASE("exchanges and integers give the same results on devices and on the host") {
  const std::vector<int> all{1, 2, 3, 5, 8}, some{2, 5};
  for (const int P : limit_rank_counts(test::small_run() ? some : all)) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P, Exchange<float>{2 * kCount * static_cast<unsigned>(P)}) ==
          "");
    CHECK(compare_backends(config, P, Exchange<oracle::Bfloat16>{3}) == "");
    CHECK(compare_backends(config, P, Integers{}) == "");
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
