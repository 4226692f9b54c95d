// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of vectors of blocks in device memory.

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 150;

/// Returns the values of this rank's blocks as entries.
template <class T>
oracle::Sparse<T> entries_of(test::SparseKind kind, const RankContext& context, std::uint64_t seed,
                             std::size_t block) {
  return test::make_sparse_of_all<T>(kind, kCount, context.P, seed,
                                     block)[static_cast<std::size_t>(context.rank)];
}

/// Calls sparseAllreducev or gtopkAllreducev twice with a residual, and scatters the result.
template <class T>
struct Reduce {
  test::Verb verb;
  test::SparseKind kind;
  std::size_t k;
  std::size_t block;
  std::size_t capacity = kCount;
  bool count_on_device = false;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(context.comm, kCount * block);
    typename Backend::template Array<T> dense(kCount * block);
    for (std::uint64_t call = 0; call < 2; ++call) {
      BackendSparse<Backend, T> send(kCount, entries_of<T>(kind, context, call + 1, block), block);
      BackendSparse<Backend, T> recv(kCount, capacity, block);
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
      BackendSparse<Backend, T> larger(kCount, recv.get()->needed, block);
      BackendSparse<Backend, T>& whole = fits ? recv : larger;
      if (!fits) context.expect(sparsecollFetch(larger.get(), nullptr, context.comm, stream));
      context.record.add(whole.entries(stream));
      context.record.add(residual.read());
      context.done(sparsecollScatter(whole.get(), dense.get(), context.comm, stream));
      if (test::queued_run()) context.expect(sparsecollCommStreamWait(context.comm, stream));
      context.record.add(dense.read(stream));
    }
  }
};

TEST_CASE("sums and selections of blocks are the same on devices and on the host") {
  const std::vector<int> all{1, 2, 3, 5, 8}, some{1, 2, 3};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const test::Verb verb : {test::Verb::kSparse, test::Verb::kGtopk})
      for (const std::size_t k : {std::size_t{15}, SPARSECOLL_ALL})
        for (const std::size_t block : {std::size_t{3}, std::size_t{40}}) {
          CAPTURE(P, static_cast<int>(verb), k, block);
          const auto config = test::config_of(P % 2 == 0 ? test::kOktopk : test::kAllgather);
          Reduce<float> reduce{verb, test::SparseKind::kHeavyTail, k, block};
          reduce.count_on_device = P % 2 == 0;
          CHECK(compare_backends(config, P, reduce) == "");
        }
}

TEST_CASE("blocks of special values, of every data type, in results that do not fit") {
  for (const test::SparseKind kind : test::kAllSparseKinds) {
    CAPTURE(test::name_of(kind));
    const auto config = test::config_of(test::kOktopk);
    const auto check = [&](const auto& scenario) {
      CHECK(compare_backends(config, 3, scenario) == "");
    };
    check(Reduce<double>{test::Verb::kSparse, kind, 20, 5});
    check(Reduce<oracle::Float16>{test::Verb::kGtopk, kind, 20, 4});
    check(Reduce<oracle::Bfloat16>{test::Verb::kSparse, kind, SPARSECOLL_ALL, 6});
  }
  CHECK(compare_backends(test::config_of(test::kOktopk), 2,
                         Reduce<float>{test::Verb::kSparse, test::SparseKind::kFull, 30, 7, 7}) ==
        "");
}

TEST_CASE("blocks of rounded values, with calls that leave the residuals") {
  auto mode = test::over_bf16(test::kOktopk, "bf16");
  if (!over_nccl()) mode = test::skipping(mode);  // refused over NCCL
  for (const test::SparseKind kind : {test::SparseKind::kHeavyTail, test::SparseKind::kNotFinite})
    CHECK(compare_backends(test::config_of(mode), 3,
                           Reduce<float>{test::Verb::kSparse, kind, 12, 9}) == "");
}

/// Calls sparseAlltoall and sparseReduceScatter.
template <class T>
struct Exchange {
  std::size_t block;
  std::size_t capacity;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto P = static_cast<std::size_t>(context.P);
    BackendSparse<Backend, T> send(
        kCount, entries_of<T>(test::SparseKind::kRandom, context, 9, block), block);
    BackendSparse<Backend, T> recv(kCount, capacity, block);
    std::vector<std::size_t> counts(P), bounds(P + 1, kCount);
    for (std::size_t r = 0; r < P; ++r) bounds[r] = r * r * 2;
    auto done =
        sparseAlltoall(send.get(), recv.get(), counts.data(), bounds.data(), context.comm, stream);
    if (test::queued_run() && done == sparsecollSuccess)
      done = sparsecollCommSynchronize(context.comm);
    context.record.add(static_cast<std::uint64_t>(done));
    BackendSparse<Backend, T> larger(kCount, recv.get()->needed, block);
    if (done == sparsecollTruncated)
      context.expect(sparsecollFetch(larger.get(), counts.data(), context.comm, stream));
    else
      context.expect(done);
    context.record.add((done == sparsecollTruncated ? larger : recv).entries(stream));
    for (const std::size_t each : counts) context.record.add(std::uint64_t{each});

    test::Residual<T> residual(context.comm, kCount * block);
    typename Backend::template Array<T> gradient(
        test::make_data<T>(test::Kind::kHeavyTail, kCount * block, context.rank, context.P, 4));
    BackendSparse<Backend, T> part(kCount, kCount, block);
    for (const std::size_t k : {std::size_t{25}, SPARSECOLL_ALL}) {
      context.done(sparseReduceScatter(gradient.get(), part.get(), kCount, k, test::kDatatype<T>,
                                       sparsecollSum, bounds.data(), residual.handle(),
                                       context.comm, stream));
      context.record.add(part.entries(stream));
      context.record.add(residual.read());
      context.record.add_stats(context.comm);
    }
  }
};

TEST_CASE("exchanges of blocks are the same on devices and on the host") {
  for (const int P : limit_rank_counts({1, 2, 5})) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P, Exchange<float>{64, 2 * kCount * static_cast<unsigned>(P)}) ==
          "");
    CHECK(compare_backends(config, P, Exchange<oracle::Bfloat16>{7, 3}) == "");
  }
}

/// Selects blocks of a gradient with a residual, and scatters a part of them.
template <class T>
struct LocalFunctions {
  std::size_t block;
  bool count_on_device;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(context.comm, kCount * block);
    typename Backend::template Array<T> dense(kCount * block), part(20 * block);
    BackendSparse<Backend, T> top(kCount, 30, block);
    for (std::uint64_t call = 0; call < 3; ++call) {
      dense.put(
          test::make_data<T>(test::Kind::kHeavyTail, kCount * block, context.rank, context.P, call),
          stream);
      if (count_on_device) top.count_on_device(0);
      context.done(sparsecollTopk(dense.get(), kCount, 30, test::kDatatype<T>, residual.handle(),
                                  top.get(), context.comm, stream));
      context.record.add(top.entries(stream));
      context.record.add(residual.read());
    }
    oracle::Sparse<T> few;
    for (std::size_t i = 0; i < 3 * block; ++i)
      few.push_back({100 * block + i + i / block * 4 * block, static_cast<T>(2.5)});
    BackendSparse<Backend, T> in(kCount, few, block);
    context.done(sparsecollScatterAt(in.get(), part.get(), 95, 20, context.comm, stream));
    if (test::queued_run()) context.expect(sparsecollCommStreamWait(context.comm, stream));
    context.record.add(part.read(stream));
  }
};

TEST_CASE("local functions with blocks give the same results on devices and on the host") {
  for (const bool count_on_device : {false, true}) {
    CHECK(compare_backends(test::default_config(), 3, LocalFunctions<float>{33, count_on_device}) ==
          "");
    CHECK(compare_backends(test::default_config(), 2,
                           LocalFunctions<oracle::Float16>{4, count_on_device}) == "");
  }
}

/// Adds integers, which is exact.
struct Integers {
  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    BackendSparse<Backend, std::int64_t> send(
        kCount, entries_of<std::int64_t>(test::SparseKind::kRandom, context, 3, 5), 5);
    BackendSparse<Backend, std::int64_t> recv(kCount, kCount, 5);
    context.done(sparseAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                  context.comm, stream));
    context.record.add(recv.entries(stream));
  }
};

TEST_CASE("blocks of integers are added on devices") {
  CHECK(compare_backends(test::default_config(), 3, Integers{}) == "");
}

}  // namespace
}  // namespace sparsecoll::devices
