// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of vectors of blocks in device memory.

#include "devices/coordinate_calls.hpp"
#include "support/catch.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 150;

TEST_CASE("sums and selections of blocks are the same on devices and on the host") {
  const std::vector<int> all{1, 2, 3, 5, 8}, some{1, 2, 3};
  for (const int P : limit_rank_counts(test::small_run() ? some : all))
    for (const test::Verb verb : {test::Verb::kSparse, test::Verb::kGtopk})
      for (const std::size_t k : {std::size_t{15}, SPARSECOLL_ALL})
        for (const std::size_t block : {std::size_t{3}, std::size_t{40}}) {
          CAPTURE(P, static_cast<int>(verb), k, block);
          const auto config = test::config_of(P % 2 == 0 ? test::kOktopk : test::kAllgather);
          CHECK(compare_backends(
                    config, P,
                    Reduce<float>{
                        verb, test::SparseKind::kHeavyTail, k, {kCount, block}, P % 2 == 0}) == "");
        }
}

TEST_CASE("blocks of special values, of every data type, in results that do not fit") {
  for (const test::SparseKind kind : test::kAllSparseKinds) {
    CAPTURE(test::name_of(kind));
    const auto config = test::config_of(test::kOktopk);
    const auto check = [&](const auto& scenario) {
      CHECK(compare_backends(config, 3, scenario) == "");
    };
    check(Reduce<double>{test::Verb::kSparse, kind, 20, {kCount, 5}});
    check(Reduce<oracle::Float16>{test::Verb::kGtopk, kind, 20, {kCount, 4}});
    check(Reduce<oracle::Bfloat16>{test::Verb::kSparse, kind, SPARSECOLL_ALL, {kCount, 6}});
  }
  CHECK(compare_backends(
            test::config_of(test::kOktopk), 2,
            Reduce<float>{
                test::Verb::kSparse, test::SparseKind::kFull, 30, {kCount, 7}, false, 7}) == "");
}

TEST_CASE("blocks of rounded values, with calls that leave the residuals") {
  for (const int wire : test::kRoundingWires) {
    auto mode = test::over_wire(wire, test::kOktopk, "rounded");
    if (!over_nccl()) mode = test::skipping(mode);  // refused over NCCL
    for (const test::SparseKind kind : {test::SparseKind::kHeavyTail, test::SparseKind::kNotFinite})
      CHECK(compare_backends(test::config_of(mode), 3,
                             Reduce<float>{test::Verb::kSparse, kind, 12, {kCount, 9}}) == "");
  }
}

TEST_CASE("exchanges of blocks are the same on devices and on the host") {
  for (const int P : limit_rank_counts({1, 2, 5})) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_backends(config, P,
                           Exchange<float>{{kCount, 64}, 2 * kCount * static_cast<unsigned>(P)}) ==
          "");
    CHECK(compare_backends(config, P, Exchange<oracle::Bfloat16>{{kCount, 7}, 3}) == "");
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

TEST_CASE("blocks of integers are added on devices") {
  CHECK(compare_backends(test::default_config(), 3, Integers{{kCount, 5}}) == "");
}

}  // namespace
}  // namespace sparsecoll::devices
