// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares the sampled selection with the plain loops, bit by bit, for every level of vector
// instructions that this machine has, every type, several threads, inputs that defeat estimates,
// and wrong estimates.

#include "kernels/host/sampled_select.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "api/sanitizers.hpp"
#include "kernels/host/backend.hpp"
#include "kernels/kernels.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

using host::SelectTuning;
using host::Simd;

enum class Pattern { tailed, zero, equal, two_valued, hot, rising, falling, nan, ties, odd };
constexpr Pattern kPatterns[] = {
    Pattern::tailed, Pattern::zero,    Pattern::equal, Pattern::two_valued, Pattern::hot,
    Pattern::rising, Pattern::falling, Pattern::nan,   Pattern::ties,       Pattern::odd};

uint64_t draw(uint64_t seed) {
  seed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ seed >> 29) * 0x94d049bb133111ebu;
  return seed ^ seed >> 32;
}

float magnitude(Pattern pattern, size_t i, size_t n, uint64_t bits) {
  const float part = static_cast<float>(bits >> 40) * 0x1p-24f;
  switch (pattern) {
    case Pattern::tailed:
      return 1 / (part + 1e-4f);
    case Pattern::zero:
      return 0;
    case Pattern::equal:
      return 1.5f;
    case Pattern::two_valued:
      return (bits & 255) == 0 ? 2.0f : 1.0f;
    case Pattern::hot:
      return i >= n / 2 && i < n / 2 + n / 64 ? 1000 + part : part;
    case Pattern::rising:
      return static_cast<float>(i + 1);
    case Pattern::falling:
      return static_cast<float>(n - i);
    case Pattern::nan:
      return std::bit_cast<float>(0x7f800001u + static_cast<uint32_t>(bits % 0x7ffffeu));
    case Pattern::ties:
      return static_cast<float>(bits % 5);
    case Pattern::odd: {
      constexpr float kOdd[] = {0,
                                1e-45f,
                                1e-38f,
                                6e-8f,
                                1,
                                70000,
                                3e38f,
                                1e30f,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
      return kOdd[bits % std::size(kOdd)];
    }
  }
  return 0;
}

template <class T>
std::vector<T> values_of(Pattern pattern, size_t n, uint64_t seed) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = draw(seed + i);
    const float wide = magnitude(pattern, i, n, bits) * ((bits >> 8 & 1) != 0 ? -1.0f : 1.0f);
    if constexpr (sizeof(T) == 2)
      values[i] = narrow<T>(wide);
    else
      values[i] = static_cast<T>(wide);
  }
  return values;
}

/// The outputs of a selection. Compilers may choose which of two NaNs an addition returns.
template <class T>
struct Outcome {
  std::vector<uint64_t> index;
  std::vector<Accumulation<T>> value;
  std::vector<Accumulation<T>> residual;
  uint64_t nnz = 0;

  bool operator==(const Outcome& other) const {
    return nnz == other.nnz && index == other.index && same(value, other.value) &&
           same(residual, other.residual);
  }
  using Values = std::vector<Accumulation<T>>;
  static bool same(const Values& a, const Values& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
  }
};

/// The input of a selection, `offset` elements behind the alignment of vectors.
template <class T>
struct Input {
  std::vector<T> gradient;
  std::vector<Accumulation<T>> residual;  ///< empty: none
  size_t offset = 0;
};

struct Wanted {
  size_t k = 0;
  /// 0: selects the k largest. Otherwise selects the entries that reach it, if there are at most k.
  uint64_t key = 0;
};

template <class T, class I>
Outcome<T> select(Kernels& kernels, Arena& arena, const Input<T>& input, const Wanted& wanted) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(arena);
  const size_t n = input.gradient.size();
  const bool feedback = !input.residual.empty();
  Acc* next = arena.take<Acc>(n + input.offset) + input.offset;
  std::fill_n(next, n, Acc(-7));
  const SparseBuffer out = kernels.sparse(std::min(wanted.k, n));
  Gradient gradient{input.gradient.data(), n, {}};
  if (feedback) gradient.residual = {input.residual.data(), next};
  if (wanted.key == 0)
    kernels.accumulate_select(gradient, wanted.k, out);
  else
    kernels.accumulate_above(gradient, wanted.key, out);
  Outcome<T> outcome;
  outcome.nnz = *out.nnz;
  if (outcome.nnz > out.capacity) return outcome;
  const I* index = static_cast<const I*>(out.index);
  const Acc* value = static_cast<const Acc*>(out.value);
  outcome.index.assign(index, index + outcome.nnz);
  outcome.value.assign(value, value + outcome.nnz);
  if (feedback) outcome.residual.assign(next, next + n);
  for (Acc& each : outcome.residual) each = canonical(each);
  return outcome;
}

/// The backends for all levels of vector instructions that this machine has.
class Ways {
 public:
  Ways() {
    for (const Simd simd : {Simd::portable, Simd::avx2, Simd::avx512})
      for (const size_t threads : {1, 2, 3})
        if (host::find_filters(simd)) ways_.push_back(std::make_unique<Way>(simd, threads));
  }

  /// Calls check(backend, name) for each backend with this tuning.
  template <class Check>
  void each(const SelectTuning& tuning, Check check) {
    for (const auto& way : ways_) {
      way->backend.tuning() = tuning;
      INFO("level " << static_cast<int>(way->simd) << ", " << way->threads << " threads");
      check(way->backend);
    }
  }

 private:
  struct Way {
    Way(Simd level, size_t count) : simd(level), threads(count), backend(arena, level, count) {}
    Simd simd;
    size_t threads;
    Memory memory;
    Arena arena{memory};
    host::Backend backend;
  };
  std::vector<std::unique_ptr<Way>> ways_;
};

/// Returns a tuning that samples vectors of any length, in chunks of a few rows.
SelectTuning eager() {
  SelectTuning tuning;
  tuning.min_count = 0;
  tuning.min_ratio = 1;
  tuning.min_chunk = 1;
  return tuning;
}

template <class T, class I>
void check_all(Ways& ways, const SelectTuning& tuning, const Input<T>& input,
               const Wanted& wanted) {
  constexpr IndexType kIndex = sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  const auto want =
      select<T, I>(make_plain_kernels(data_type_of<T>(), kIndex, arena), arena, input, wanted);
  ways.each(tuning, [&](host::Backend& backend) {
    const Arena::Scope inner(backend.arena());
    Kernels& kernels = make_host_kernels(data_type_of<T>(), kIndex, backend);
    CHECK((select<T, I>(kernels, backend.arena(), input, wanted) == want));
  });
}

template <class T>
Input<T> input_of(Pattern pattern, size_t n, bool feedback) {
  Input<T> input{values_of<T>(pattern, n, 5 * n), {}, 0};
  // If n is odd, the residual equals the gradient; otherwise its values are independent.
  if (feedback) input.residual = values_of<Accumulation<T>>(pattern, n, n % 2 == 0 ? 77 : 5 * n);
  return input;
}

TEMPLATE_TEST_CASE("short vectors of every length", "", float, double, Float16, Bfloat16) {
  Ways ways;
  for (size_t n = 0; n <= 300; n += n < 140 && !kSanitized ? 1 : 7) {
    for (const Pattern pattern : {Pattern::tailed, Pattern::ties, Pattern::odd, Pattern::nan}) {
      for (const bool feedback : {false, true}) {
        Input<TestType> input = input_of<TestType>(pattern, n, feedback);
        input.offset = n % 3;
        INFO("n = " << n << ", pattern " << static_cast<int>(pattern) << ", feedback " << feedback);
        for (const size_t k : {size_t{0}, size_t{1}, n / 7, n, n + 5})
          check_all<TestType, uint32_t>(ways, eager(), input, {k});
        check_all<TestType, uint64_t>(ways, eager(), input, {n, 0x3f800000u});
      }
    }
  }
}

constexpr size_t kLong = kSanitized ? 20001 : 70001;  // sanitizers are slow

TEMPLATE_TEST_CASE("inputs that defeat guesses", "", float, double, Float16, Bfloat16) {
  Ways ways;
  for (const Pattern pattern : kPatterns) {
    for (const bool feedback : {false, true}) {
      const Input<TestType> input = input_of<TestType>(pattern, kLong, feedback);
      for (const size_t k : {size_t{1}, size_t{70}, size_t{1400}, kLong / 5}) {
        INFO("pattern " << static_cast<int>(pattern) << ", k = " << k << ", feedback " << feedback);
        SelectTuning tuning;
        check_all<TestType, uint64_t>(ways, tuning, input, {k});
        tuning.min_chunk = 10000;
        tuning.stream_bytes = 1;
        check_all<TestType, uint32_t>(ways, tuning, input, {k});
      }
    }
  }
}

TEMPLATE_TEST_CASE("wrong bounds and too little room", "", float, double, Float16, Bfloat16) {
  using Acc = Accumulation<TestType>;
  Ways ways;
  for (const Pattern pattern : kPatterns) {
    for (const bool feedback : {false, true}) {
      Input<TestType> input = input_of<TestType>(pattern, kLong, feedback);
      input.offset = 1;
      for (const uint64_t bound : {uint64_t{1}, uint64_t{key_of(Acc(1.25))},
                                   uint64_t{key_of(Acc(3000))}, kKeyEnd<Acc> - 1, kKeyEnd<Acc>}) {
        INFO("pattern " << static_cast<int>(pattern) << ", bound " << bound << ", feedback "
                        << feedback);
        SelectTuning tuning = eager();
        tuning.forced_bound = bound;
        tuning.chunk_capacity = 1;
        check_all<TestType, uint32_t>(ways, tuning, input, {700});
        tuning.min_chunk = kLong;  // one stretch
        check_all<TestType, uint64_t>(ways, tuning, input, {7});
      }
    }
  }
}

TEMPLATE_TEST_CASE("what reaches a key, and how much of it there is", "", float, double, Float16,
                   Bfloat16) {
  using Acc = Accumulation<TestType>;
  Ways ways;
  for (const Pattern pattern : kPatterns) {
    for (const bool feedback : {false, true}) {
      const Input<TestType> input = input_of<TestType>(pattern, kLong, feedback);
      for (const uint64_t key : {uint64_t{1}, uint64_t{key_of(Acc(1.5))},
                                 uint64_t{key_of(Acc(1000))}, kKeyEnd<Acc> - 1}) {
        INFO("pattern " << static_cast<int>(pattern) << ", key " << key << ", feedback "
                        << feedback);
        for (const size_t room : {size_t{0}, size_t{100}, kLong})
          check_all<TestType, uint32_t>(ways, eager(), input, {room, key});
      }
    }
  }
}

TEST_CASE("neighbours in a sample have a design effect, independent entries have none") {
  const std::vector<uint32_t> apart{0, 16, 32, 48}, together{0, 1, 2, 3};
  CHECK(host::design_effect({}, 4) == 1);
  CHECK(host::design_effect(apart, 4) == 1);
  CHECK(host::design_effect(together, 4) == 3);
}

TEST_CASE("an estimated bound leaves a few more candidates than entries") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  host::Backend backend(arena, host::best_simd());
  constexpr size_t n = size_t{1} << 22, k = n / 100;
  const std::vector<float> values = values_of<float>(Pattern::tailed, n, 1);
  const uint64_t bound = host::guess_bound<float>(backend, {values.data(), n, {}}, k);
  const auto found = static_cast<size_t>(
      std::ranges::count_if(values, [bound](float each) { return key_of(each) >= bound; }));
  CHECK(found >= k);
  CHECK(found < k * 5 / 4);
}

TEST_CASE("a selection stops soon after its deadline") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  host::Backend backend(arena, host::best_simd());
  constexpr size_t n = size_t{1} << 23, k = 1000;
  const std::vector<float> values(n, 1.0f), before(n, 2.0f);
  std::vector<float> after(n, -7.0f);
  const SparseBuffer selected{arena.take<uint32_t>(k), arena.take<float>(k),
                              arena.take<uint64_t>(1), k};
  Kernels& kernels = make_host_kernels(DataType::float32, IndexType::index32, backend);
  const auto run = [&] {
    kernels.accumulate_select({values.data(), n, {before.data(), after.data()}}, k, selected);
  };
  const Deadline deadline = Deadline::after(1);
  while (!deadline.passed()) {
  }
  backend.set_deadline(deadline);
  CHECK_THROWS_MATCHES(run(), Error, Catch::Matchers::Predicate<Error>([](const Error& error) {
                         return error.code() == sparsecollTimeout;
                       }));
  CHECK(after[n / 2] == -7.0f);
  CHECK(after[n - 1] == -7.0f);
  backend.set_deadline({});
  run();
  CHECK(*selected.nnz == k);
  CHECK(after[n - 1] == 3.0f);
}

TEST_CASE("the workspace is a small part of the vector, whatever is in it") {
  Memory memory;
  Arena arena(memory);
  constexpr size_t n = size_t{1} << 20, k = 1000;
  for (const Pattern pattern : kPatterns) {
    const Input<float> input = input_of<float>(pattern, n, true);
    host::Backend backend(arena, host::best_simd());
    const Arena::Scope scope(arena);
    const size_t before = memory.bytes_in_use();
    Kernels& kernels = make_host_kernels(DataType::float32, IndexType::index32, backend);
    const auto got = select<float, uint32_t>(kernels, arena, input, {k});
    INFO("pattern " << static_cast<int>(pattern));
    CHECK(memory.bytes_in_use() - before < n * sizeof(float) * 3 / 2);  // with the new residual
    CHECK(got.nnz == (pattern == Pattern::zero ? 0 : k));
  }
}

}  // namespace
}  // namespace sparsecoll::unit
