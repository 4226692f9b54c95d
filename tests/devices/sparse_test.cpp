// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Verbs in coordinate form and the local pieces with memory of a device.

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 900;

/// This rank's entries of the given kind.
template <class T>
oracle::Sparse<T> entries_of(test::SparseKind kind, const Scene& scene, std::uint64_t seed) {
  return test::make_sparse_of_all<T>(kind, kCount, scene.P,
                                     seed)[static_cast<std::size_t>(scene.rank)];
}

/// sparseAllreducev and gtopkAllreducev, twice, with a residual.
template <class T>
struct Reduce {
  test::Verb verb;
  test::SparseKind kind;
  std::size_t k;
  std::size_t capacity;
  bool count_on_device;

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(scene.comm, kCount);
    for (std::uint64_t call = 0; call < 2; ++call) {
      BackendSparse<Backend, T> send(kCount, entries_of<T>(kind, scene, call + 1));
      BackendSparse<Backend, T> recv(kCount, capacity);
      if (count_on_device) {
        send.count_on_device(send.get()->nnz);
        recv.count_on_device(0);
      }
      const auto function = verb == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
      const bool fits = capacity >= kCount;
      scene.done(
          function(send.get(), recv.get(), k, sparsecollAvg, residual.handle(), scene.comm, stream),
          fits ? sparsecollSuccess : sparsecollTruncated);
      scene.record.add(std::uint64_t{recv.get()->needed});
      scene.record.add_stats(scene.comm);
      if (!fits) {
        BackendSparse<Backend, T> larger(kCount, recv.get()->needed);
        scene.expect(sparsecollFetch(larger.get(), nullptr, scene.comm, stream));
        scene.record.add(larger.entries(stream));
      }
      scene.record.add(recv.entries(stream));
      scene.record.add(residual.read());
    }
  }
};

TEST_CASE("verbs in coordinate form on device buffers give what they give on the host's") {
  const std::vector<int> all{1, 2, 3, 4, 5, 7, 8, 9}, some{1, 2, 3, 8};
  for (const int P : team_sizes(test::small_run() ? some : all))
    for (const test::Verb verb : {test::Verb::kSparse, test::Verb::kGtopk})
      for (const std::size_t k : {std::size_t{15}, SPARSECOLL_ALL}) {
        CAPTURE(P, static_cast<int>(verb), k);
        // Auto's choices depend on times that it measures, and so do the bytes it sends.
        const auto config = test::config_of(P % 2 == 0 ? test::kOktopk : test::kAllgather);
        CHECK(compare_backends(
                  config, P,
                  Reduce<float>{verb, test::SparseKind::kHeavyTail, k, kCount, P % 2 == 0}) == "");
      }
}

/// All entries of two ranks, in one message of more than a piece.
struct LongMessages {
  static constexpr std::size_t kLong = 150000;

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    oracle::Sparse<double> entries;
    for (std::size_t i = 0; i < kLong; ++i)
      entries.push_back(
          {2 * i + static_cast<std::size_t>(scene.rank), static_cast<double>(i % 77)});
    BackendSparse<Backend, double> send(2 * kLong, entries), recv(2 * kLong, 2 * kLong);
    scene.done(gtopkAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                               scene.comm, stream),
               sparsecollSuccess);
    scene.record.add_stats(scene.comm);
    scene.record.add(recv.entries(stream));
  }
};

TEST_CASE("messages of several pieces") {
  const auto config = test::default_config();
  CHECK(compare_backends(config, 2, LongMessages{}) == "");
}

TEST_CASE("awkward entries, every type, results that do not fit") {
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

/// Integers are added exactly.
struct Integers {
  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    BackendSparse<Backend, std::int64_t> send(
        kCount, entries_of<std::int64_t>(test::SparseKind::kRandom, scene, 3));
    BackendSparse<Backend, std::int64_t> recv(kCount, kCount);
    scene.done(sparseAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                scene.comm, stream));
    scene.record.add(recv.entries(stream));
  }
};

/// sparseAlltoall and sparseReduceScatter, with room and without.
template <class T>
struct Exchange {
  std::size_t capacity;

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    const auto P = static_cast<std::size_t>(scene.P);
    BackendSparse<Backend, T> send(kCount, entries_of<T>(test::SparseKind::kRandom, scene, 9));
    BackendSparse<Backend, T> recv(kCount, capacity);
    std::vector<std::size_t> counts(P), bounds(P + 1, kCount);
    for (std::size_t r = 0; r < P; ++r) bounds[r] = r * r * 10;  // the last has most
    auto done =
        sparseAlltoall(send.get(), recv.get(), counts.data(), bounds.data(), scene.comm, stream);
    if (test::queued_run() && done == sparsecollSuccess)
      done = sparsecollCommSynchronize(scene.comm);
    scene.record.add(static_cast<std::uint64_t>(done));
    if (done == sparsecollTruncated) {
      BackendSparse<Backend, T> larger(kCount, recv.get()->needed);
      scene.expect(sparsecollFetch(larger.get(), counts.data(), scene.comm, stream));
      scene.record.add(larger.entries(stream));
    } else {
      scene.expect(done);
      scene.record.add(recv.entries(stream));
    }
    for (const std::size_t each : counts) scene.record.add(std::uint64_t{each});

    test::Residual<T> residual(scene.comm, kCount);
    typename Backend::template Array<T> gradient(
        test::make_data<T>(test::Kind::kHeavyTail, kCount, scene.rank, scene.P, 4));
    BackendSparse<Backend, T> part(kCount, kCount);
    scene.done(sparseReduceScatter(gradient.get(), part.get(), kCount, 25, test::kDatatype<T>,
                                   sparsecollSum, bounds.data(), residual.handle(), scene.comm,
                                   stream));
    scene.record.add(part.entries(stream));
    scene.record.add(residual.read());
    scene.record.add_stats(scene.comm);
  }
};

TEST_CASE("exchanges and integers") {
  const std::vector<int> all{1, 2, 3, 5, 8}, some{2, 5};
  for (const int P : team_sizes(test::small_run() ? some : all)) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P, Exchange<float>{2 * kCount * static_cast<unsigned>(P)}) ==
          "");
    CHECK(compare_backends(config, P, Exchange<oracle::Bfloat16>{3}) == "");
    CHECK(compare_backends(config, P, Integers{}) == "");
  }
}

/// A dense verb made of its pieces.
template <class T>
struct Pieces {
  bool count_on_device;

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    test::Residual<T> residual(scene.comm, kCount);
    typename Backend::template Array<T> dense(kCount);
    BackendSparse<Backend, T> top(kCount, 30), sum(kCount, kCount);
    for (std::uint64_t call = 0; call < 3; ++call) {
      dense.put(test::make_data<T>(test::Kind::kHeavyTail, kCount, scene.rank, scene.P, call),
                stream);
      if (count_on_device) {
        top.count_on_device(0);
        sum.count_on_device(0);
      }
      scene.done(sparsecollTopk(dense.get(), kCount, 30, test::kDatatype<T>, residual.handle(),
                                top.get(), scene.comm, stream));
      scene.record.add(top.entries(stream));
      scene.done(sparseAllreducev(top.get(), sum.get(), 30, sparsecollAvg, residual.handle(),
                                  scene.comm, stream));
      scene.done(sparsecollScatter(sum.get(), dense.get(), scene.comm, stream));
      if (test::queued_run()) scene.expect(sparsecollCommStreamWait(scene.comm, stream));
      scene.record.add(dense.read(stream));
      scene.record.add(residual.read());
    }
  }
};

TEST_CASE("a dense verb's pieces on the device") {
  for (const bool count_on_device : {false, true}) {
    CHECK(compare_backends(test::default_config(), 3, Pieces<float>{count_on_device}) == "");
    CHECK(compare_backends(test::default_config(), 2, Pieces<oracle::Float16>{count_on_device}) ==
          "");
  }
}

}  // namespace
}  // namespace sparsecoll::devices
