// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Selections from the sum of several vectors, against the plain loops on a sum that lies in memory,
// bit by bit; and what they do if a vector cannot be read.

#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/host/backend.hpp"
#include "kernels/kernels.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

using host::Simd;

/// Vectors of which those with an odd number are copied, as if they lay elsewhere.
template <class T>
class Source final : public SummedVectors {
 public:
  Source(std::vector<std::vector<T>> vectors) : vectors_(std::move(vectors)) {}

  size_t number() const override { return vectors_.size(); }
  const void* read(size_t vector, size_t begin, size_t count, void* copy) override {
    if (reads_++ >= most_reads) return nullptr;
    const T* const from = vectors_[vector].data() + begin;
    if (vector % 2 == 0) return from;
    return std::memcpy(copy, from, count * sizeof(T));
  }
  bool read_groups(size_t vector, std::span<const size_t> begins, size_t count,
                   void* copy) override {
    if (reads_++ >= most_reads) return false;
    for (size_t g = 0; g < begins.size(); ++g)
      std::copy_n(vectors_[vector].data() + begins[g], count, static_cast<T*>(copy) + g * count);
    return true;
  }
  std::vector<Accumulation<T>> sum() const {
    std::vector<Accumulation<T>> sums(vectors_[0].size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = widen(vectors_[0][i]);
    for (size_t v = 1; v < vectors_.size(); ++v)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] + widen(vectors_[v][i]);
    return sums;
  }

  size_t most_reads = std::numeric_limits<size_t>::max();

 private:
  std::vector<std::vector<T>> vectors_;
  std::atomic<size_t> reads_{0};
};

template <class T>
T number_at(size_t vector, size_t i) {
  uint64_t bits = (i * 8 + vector + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 29) * 0x94d049bb133111ebu;
  const auto small = static_cast<float>(bits >> 44) * 0x1p-20f;
  const float wide = (bits & 4) != 0 ? 1 / (small + 1e-3f) : -small;
  if constexpr (sizeof(T) == 2)
    return narrow<T>(wide);
  else
    return static_cast<T>(wide);
}

template <class T>
Source<T> make_source(size_t vectors, size_t n) {
  std::vector<std::vector<T>> all(vectors, std::vector<T>(n));
  for (size_t v = 0; v < vectors; ++v)
    for (size_t i = 0; i < n; ++i) all[v][i] = number_at<T>(v, i);
  return Source<T>(std::move(all));
}

struct Level {
  Level(Simd simd, size_t threads) : backend(arena, simd, threads) {}
  Memory memory;
  Arena arena{memory};
  const Arena::Scope scope{arena};
  host::Backend backend;
};

template <class T>
struct Result {
  std::vector<uint32_t> index;
  std::vector<T> value;
  std::vector<T> residual;
  bool operator==(const Result&) const = default;
};

/// Selects with `call(gradient, selected)`, which returns whether it could. The new residual lies
/// `offset` elements behind the alignment of vectors.
template <class T, class Call>
std::optional<Result<T>> select(Kernels& kernels, Arena& arena, size_t n, size_t k, size_t offset,
                                Call call) {
  const Arena::Scope scope(arena);
  T* const previous = arena.take<T>(n);
  for (size_t i = 0; i < n; ++i) previous[i] = number_at<T>(7, i);
  T* const next = arena.take<T>(n + offset) + offset;
  const SparseBuffer out = kernels.sparse(k);
  if (!call(Gradient{nullptr, n, {previous, next}}, out)) return {};
  const auto* const index = static_cast<const uint32_t*>(out.index);
  const auto* const value = static_cast<const T*>(out.value);
  return Result<T>{{index, index + *out.nnz}, {value, value + *out.nnz}, {next, next + n}};
}

template <class T>
void check_selection(size_t vectors, size_t n, size_t k, const host::SelectTuning& tuning) {
  Source<T> source = make_source<T>(vectors, n);
  const std::vector<T> sum = source.sum();
  Level plain(Simd::portable, 1);
  Kernels& wanted = make_plain_kernels(data_type_of<T>(), IndexType::index32, plain.arena);
  for (const Simd simd : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!host::find_filters(simd)) continue;
    for (const size_t threads : {1, 3}) {
      INFO("level " << static_cast<int>(simd) << ", " << threads << " threads, " << vectors
                    << " vectors of " << n << ", k " << k);
      Level level(simd, threads);
      level.backend.tuning() = tuning;
      Kernels& kernels = make_host_kernels(data_type_of<T>(), IndexType::index32, level.backend);
      for (const size_t offset : {0, 3}) {
        const auto want = select<T>(wanted, plain.arena, n, k, offset, [&](Gradient in, auto& out) {
          in.values = sum.data();
          wanted.accumulate_select(in, k, out);
          return true;
        });
        CHECK(want ==
              select<T>(kernels, level.arena, n, k, offset, [&](const Gradient& in, auto& out) {
                return kernels.accumulate_select_sum(source, in, k, out);
              }));
      }
    }
  }
}

TEMPLATE_TEST_CASE("the sum of vectors is selected from as if it lay in memory", "", float,
                   double) {
  host::SelectTuning tuning;
  tuning.min_chunk = 5000;
  for (const size_t vectors : {1, 2, 3, 5})
    for (const size_t n : {4096, 40000, 100003}) check_selection<TestType>(vectors, n, 50, tuning);
  check_selection<TestType>(2, 40000, 0, tuning);
  check_selection<TestType>(2, 40000, 10000, tuning);
  tuning.forced_bound = uint64_t{key_of(TestType(1e30f))};  // too high: K1 runs twice
  check_selection<TestType>(2, 40000, 100, tuning);
  tuning.forced_bound = 1;
  tuning.chunk_capacity = 1;  // chunks run full
  check_selection<TestType>(2, 40000, 100, tuning);
}

TEMPLATE_TEST_CASE("vectors are added in their order", "", float, double, Float16, Bfloat16,
                   uint32_t, uint64_t) {
  using Acc = Accumulation<TestType>;
  for (const size_t n : {1, 63, 4097, 140000}) {
    for (const size_t vectors : {1, 2, 4}) {
      Source<TestType> source = make_source<TestType>(vectors, n);
      Level level(host::best_simd(), 3);
      Kernels& kernels =
          make_host_kernels(data_type_of<TestType>(), IndexType::index32, level.backend);
      std::vector<Acc> sum(n);
      CHECK(kernels.add_vectors(source, n, sum.data()));
      CHECK(sum == source.sum());
      source.most_reads = 0;
      CHECK(!kernels.add_vectors(source, n, sum.data()));
    }
  }
}

TEST_CASE("a vector that cannot be read any more ends a selection, whenever that happens") {
  constexpr size_t kCount = 200000;
  for (const size_t reads : {0, 1, 2, 3, 7, 12}) {
    Source<float> source = make_source<float>(2, kCount);
    source.most_reads = reads;
    Level level(host::best_simd(), 2);
    Kernels& kernels = make_host_kernels(DataType::float32, IndexType::index32, level.backend);
    CHECK(!select<float>(kernels, level.arena, kCount, 100, 0, [&](const Gradient& in, auto& out) {
      return kernels.accumulate_select_sum(source, in, 100, out);
    }));
  }
}

}  // namespace
}  // namespace sparsecoll::unit
