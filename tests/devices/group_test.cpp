// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups of calls with memory of a device, of the host, and both; on one stream and on several.

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::devices {
namespace {

struct Shape {
  test::Verb verb;
  std::size_t n;
  std::size_t k;
  bool feedback;
};
constexpr Shape kShapes[] = {{test::Verb::kSparse, 700, 30, true},
                             {test::Verb::kGtopk, 300, 9, true},
                             {test::Verb::kSparse, 0, 5, false},
                             {test::Verb::kSparse, 700, 30, true},
                             {test::Verb::kGtopk, 64, 100, false}};

enum class Streams { one, several };

template <class T>
struct Group {
  Streams streams;
  bool mixed;  ///< every second tensor stays on the host

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    using Array = typename Backend::template Array<T>;
    const typename Backend::Stream stream[2];
    std::vector<Array> there;
    std::vector<HostArray<T>> here;
    std::vector<test::Residual<T>> residuals;
    for (const Shape& shape : kShapes) {
      there.emplace_back(shape.n);
      here.emplace_back(shape.n);
      residuals.emplace_back(scene.comm, shape.n, shape.feedback);
    }
    for (std::uint64_t round = 0; round < 3; ++round) {
      scene.expect(sparsecollGroupStart(scene.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const Shape& shape = kShapes[t];
        const bool stays = mixed && t % 2 == 1;
        const cudaStream_t own = stream[streams == Streams::several ? t % 2 : 0];
        const cudaStream_t on = stays ? nullptr : own;
        const auto data = test::make_data<T>(test::Kind::kHeavyTail, shape.n, scene.rank, scene.P,
                                             10 * round + t);
        stays ? here[t].put(data) : there[t].put(data, on);
        T* const x = stays ? here[t].get() : there[t].get();
        const auto verb = shape.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
        scene.expect(verb(x, x, shape.n, shape.k, test::kDatatype<T>, sparsecollSum,
                          residuals[t].handle(), scene.comm, on));
      }
      scene.done(sparsecollGroupEnd(scene.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const cudaStream_t on = stream[streams == Streams::several ? t % 2 : 0];
        scene.record.add(mixed && t % 2 == 1 ? here[t].read() : there[t].read(on));
        if (kShapes[t].feedback) scene.record.add(residuals[t].read());
      }
    }
  }
};

TEST_CASE("groups on devices give what they give on the host") {
  for (const int P : team_sizes({1, 2, 3, 5, 8})) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P, Group<float>{Streams::one, false}) == "");
    CHECK(compare_backends(config, P, Group<float>{Streams::several, false}) == "");
    // NCCL takes no host tensors.
    CHECK(compare_backends(config, P, Group<oracle::Bfloat16>{Streams::several, !over_nccl()}) ==
          "");
  }
}

TEST_CASE("groups by every algorithm") {
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8, 9}, some{3, 6};
  for (const int P : team_sizes(test::small_run() ? some : all))
    for (const test::Mode& mode :
         {test::kAllgather, test::kOktopk, test::kReuse, test::kTopkA2A, test::kDense,
          test::kHierarchical, test::kBf16Modes[1], test::kBf16Modes[4],
          test::over_bf16(test::kHierarchical, "hierarchical, bf16")}) {
      CAPTURE(P, mode.name);
      CHECK(compare_backends(test::config_of(mode), P, Group<float>{Streams::one, false}) == "");
    }
}

/// Every verb that a group takes but for the dense allreduces; an output is too small.
struct OtherVerbs {
  static constexpr std::size_t kCount = 500;

  template <class Backend>
  using Sparse = BackendSparse<Backend, float>;

  template <class Backend>
  void operator()(Backend, const Scene& scene) const {
    const typename Backend::Stream stream;
    const auto entries = test::make_sparse_of_all<float>(test::SparseKind::kRandom, kCount, scene.P,
                                                         7)[static_cast<std::size_t>(scene.rank)];
    const std::size_t most = kCount * static_cast<std::size_t>(scene.P);
    const std::size_t little = scene.rank == scene.P - 1 ? 3 : most;
    Sparse<Backend> send(kCount, entries);
    Sparse<Backend> sum(kCount, kCount), top(kCount, little), came(kCount, most),
        part(kCount, most);
    typename Backend::template Array<float> gradient(
        test::make_data<float>(test::Kind::kHeavyTail, kCount, scene.rank, scene.P, 4));
    test::Residual<float> left(scene.comm, kCount), of_part(scene.comm, kCount);
    std::vector<std::size_t> counts(static_cast<std::size_t>(scene.P));

    scene.expect(sparsecollGroupStart(scene.comm));
    scene.expect(sparseAllreducev(send.get(), sum.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                  scene.comm, stream));
    scene.expect(gtopkAllreducev(send.get(), top.get(), 9, sparsecollAvg, left.handle(), scene.comm,
                                 stream));
    scene.expect(
        sparseAlltoall(send.get(), came.get(), counts.data(), nullptr, scene.comm, stream));
    scene.expect(sparseReduceScatter(gradient.get(), part.get(), kCount, 20, sparsecollFloat32,
                                     sparsecollSum, nullptr, of_part.handle(), scene.comm, stream));
    scene.done(sparsecollGroupEnd(scene.comm),
               little < most ? sparsecollTruncated : sparsecollSuccess);
    if (little < most) {
      Sparse<Backend> larger(kCount, top.get()->needed);
      top.get()->indices = larger.get()->indices;
      top.get()->values = larger.get()->values;
      top.get()->capacity = larger.get()->capacity;
      scene.expect(sparsecollFetch(top.get(), nullptr, scene.comm, stream));
      larger.get()->nnz = top.get()->nnz;
      scene.record.add(larger.entries(stream));
    } else {
      scene.record.add(top.entries(stream));
    }
    for (const Sparse<Backend>* each : {&sum, &came, &part})
      scene.record.add(each->entries(stream));
    for (const std::size_t each : counts) scene.record.add(std::uint64_t{each});
    scene.record.add(left.read());
    scene.record.add(of_part.read());
  }
};

TEST_CASE("groups of exchanges and of vectors in coordinate form") {
  const std::vector<int> all{1, 2, 3, 5, 8, 9}, some{1, 5};
  for (const int P : team_sizes(test::small_run() ? some : all))
    for (const test::Mode& mode : {test::kOktopk, test::kHierarchical}) {
      CAPTURE(P, mode.name);
      CHECK(compare_backends(test::config_of(mode), P, OtherVerbs{}) == "");
    }
}

}  // namespace
}  // namespace sparsecoll::devices
