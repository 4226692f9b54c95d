// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of groups whose tensors are in memory of a device, the host, or both, on one stream and on
// several.

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
  bool mixed;  ///< every second tensor is in host memory
  bool gtopk_feedback = true;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    using Array = typename Backend::template Array<T>;
    const typename Backend::Stream stream[2];
    std::vector<Array> on_device;
    std::vector<HostArray<T>> on_host;
    std::vector<test::Residual<T>> residuals;
    for (const Shape& shape : kShapes) {
      on_device.emplace_back(shape.n);
      on_host.emplace_back(shape.n);
      residuals.emplace_back(context.comm, shape.n, has_feedback(shape));
    }
    for (std::uint64_t round = 0; round < 3; ++round) {
      context.expect(sparsecollGroupStart(context.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const Shape& shape = kShapes[t];
        const bool is_host = mixed && t % 2 == 1;
        const cudaStream_t own = stream[streams == Streams::several ? t % 2 : 0];
        const cudaStream_t on = is_host ? nullptr : own;
        const auto data = test::make_data<T>(test::Kind::kHeavyTail, shape.n, context.rank,
                                             context.P, 10 * round + t);
        is_host ? on_host[t].put(data) : on_device[t].put(data, on);
        T* const x = is_host ? on_host[t].get() : on_device[t].get();
        const auto verb = shape.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
        context.expect(verb(x, x, shape.n, shape.k, test::kDatatype<T>, sparsecollSum,
                            residuals[t].handle(), context.comm, on));
      }
      context.done(sparsecollGroupEnd(context.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const cudaStream_t on = stream[streams == Streams::several ? t % 2 : 0];
        context.record.add(mixed && t % 2 == 1 ? on_host[t].read() : on_device[t].read(on));
        if (has_feedback(kShapes[t])) context.record.add(residuals[t].read());
      }
    }
  }

  bool has_feedback(const Shape& shape) const {
    return shape.feedback && (gtopk_feedback || shape.verb != test::Verb::kGtopk);
  }
};

TEST_CASE("groups give the same results on devices and on the host") {
  for (const int P : limit_rank_counts({1, 2, 3, 5, 8})) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P, Group<float>{Streams::one, false}) == "");
    CHECK(compare_backends(config, P, Group<float>{Streams::several, false}) == "");
    // NCCL accepts no host tensors.
    CHECK(compare_backends(config, P, Group<oracle::Bfloat16>{Streams::several, !over_nccl()}) ==
          "");
  }
}

TEST_CASE("groups with every algorithm") {
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8, 9}, some{3, 6};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const test::Mode& mode :
         {test::kAllgather, test::kOktopk, test::kReuse, test::kTopkA2A, test::kDense,
          test::kHierarchical, test::kSharded, test::kBf16Modes[1],
          test::over_bf16(test::kGtopk, "gtopk, bf16"),
          test::over_bf16(test::kHierarchical, "hierarchical, bf16"), test::kInt8Modes[1],
          test::over_int8(test::kGtopk, "gtopk, int8"),
          test::over_int8(test::kHierarchical, "hierarchical, int8")}) {
      CAPTURE(P, mode.name);
      // gtopkAllreduce does not take a residual of Sharded.
      const bool feedback = mode.algorithm != sparsecollAlgoSharded;
      CHECK(compare_backends(test::config_of(mode), P,
                             Group<float>{Streams::one, false, feedback}) == "");
    }
}

/// A group with every verb except the dense allreduces. One output is too small.
struct OtherVerbs {
  static constexpr std::size_t kCount = 500;

  template <class Backend>
  using Sparse = BackendSparse<Backend, float>;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto entries = test::make_sparse_of_all<float>(
        test::SparseKind::kRandom, kCount, context.P, 7)[static_cast<std::size_t>(context.rank)];
    const std::size_t all_entries = kCount * static_cast<std::size_t>(context.P);
    const std::size_t capacity = context.rank == context.P - 1 ? 3 : all_entries;
    Sparse<Backend> send(kCount, entries);
    Sparse<Backend> sum(kCount, kCount), top(kCount, capacity), received(kCount, all_entries),
        part(kCount, all_entries);
    typename Backend::template Array<float> gradient(
        test::make_data<float>(test::Kind::kHeavyTail, kCount, context.rank, context.P, 4));
    test::Residual<float> top_residual(context.comm, kCount), part_residual(context.comm, kCount);
    std::vector<std::size_t> counts(static_cast<std::size_t>(context.P));

    context.expect(sparsecollGroupStart(context.comm));
    context.expect(sparseAllreducev(send.get(), sum.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                    context.comm, stream));
    context.expect(gtopkAllreducev(send.get(), top.get(), 9, sparsecollAvg, top_residual.handle(),
                                   context.comm, stream));
    context.expect(
        sparseAlltoall(send.get(), received.get(), counts.data(), nullptr, context.comm, stream));
    context.expect(sparseReduceScatter(gradient.get(), part.get(), kCount, 20, sparsecollFloat32,
                                       sparsecollSum, nullptr, part_residual.handle(), context.comm,
                                       stream));
    context.done(sparsecollGroupEnd(context.comm),
                 capacity < all_entries ? sparsecollTruncated : sparsecollSuccess);
    if (capacity < all_entries) {
      Sparse<Backend> larger(kCount, top.get()->needed);
      top.get()->indices = larger.get()->indices;
      top.get()->values = larger.get()->values;
      top.get()->capacity = larger.get()->capacity;
      context.expect(sparsecollFetch(top.get(), nullptr, context.comm, stream));
      larger.get()->nnz = top.get()->nnz;
      context.record.add(larger.entries(stream));
    } else {
      context.record.add(top.entries(stream));
    }
    for (const Sparse<Backend>* each : {&sum, &received, &part})
      context.record.add(each->entries(stream));
    for (const std::size_t each : counts) context.record.add(std::uint64_t{each});
    context.record.add(top_residual.read());
    context.record.add(part_residual.read());
  }
};

TEST_CASE("groups of exchanges and of vectors in coordinate form") {
  const std::vector<int> all{1, 2, 3, 5, 8, 9}, some{1, 5};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const test::Mode& mode : {test::kOktopk, test::kHierarchical}) {
      CAPTURE(P, mode.name);
      CHECK(compare_backends(test::config_of(mode), P, OtherVerbs{}) == "");
    }
}

}  // namespace
}  // namespace sparsecoll::devices
