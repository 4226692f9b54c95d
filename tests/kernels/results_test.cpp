// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The host's functions on results and residuals, compared with naive code: put_back, deliver,
// scatter, accumulate, copy_canonical, scale, check_indices.

#include "kernels/naive.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::unit {
namespace {

using test::Kind;

template <class T>
void check_put_back(const Entries<T>& sent, const Entries<T>& delivered, const Entries<T>& dropped,
                    ResidualRule rule) {
  Backend<T, uint32_t> backend;
  std::vector<T> residual = dense_of<T>(Kind::kHeavyTail, 200, 40), want = residual;
  const auto is_in = [](const Entries<T>& entries, uint64_t index) {
    return std::any_of(entries.begin(), entries.end(),
                       [index](const auto& e) { return e.index == index; });
  };
  for (const auto& entry : sent)
    if (!is_in(delivered, entry.index)) want[entry.index] = want[entry.index] + entry.value;
  for (const auto& entry : dropped)
    if (rule == ResidualRule::conserving && is_in(delivered, entry.index))
      want[entry.index] = want[entry.index] + entry.value;
  backend.kernels().put_back(
      {backend.put(sent), backend.put(delivered), backend.put(dropped), rule}, residual.data());
  CHECK(test::difference("residual", one_nan(residual), one_nan(want)) == "");
}

TEST_CASE("put_back returns what was not delivered and, conserving, what a merge dropped") {
  for (const Kind kind : {Kind::kIntegers, Kind::kHeavyTail, Kind::kNotFinite, Kind::kDenormals}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const auto sent = sparse_of<double>(kind, 200, seed);
      const auto delivered = sparse_of<double>(kind, 200, seed + 100);
      const auto dropped = sparse_of<double>(kind, 200, seed + 200);
      INFO(test::name_of(kind) << ", seed " << seed);
      for (const auto rule : {ResidualRule::conserving, ResidualRule::paper}) {
        check_put_back<double>(sent, delivered, dropped, rule);
        check_put_back<double>(sent, {}, dropped, rule);
        check_put_back<double>({}, delivered, {}, rule);
        check_put_back<double>(sent, sent, sent, rule);
      }
    }
  }
}

TEST_CASE("put_back knows a delivered vector in dense form") {
  Backend<float, uint32_t> backend;
  std::vector<float> residual(4, 1.0f);
  backend.kernels().put_back(
      {backend.put({{1, 5.0f}, {3, 6.0f}}), backend.put_dense({1, 2, 3}), backend.put({}), {}},
      residual.data());
  CHECK(residual == std::vector<float>{1, 1, 1, 7});  // only index 3 was not delivered
}

template <class T>
T naive_finish(T value, int divisor) {
  const T divided = divisor == 1 ? value : value / static_cast<T>(divisor);
  if (std::isnan(divided)) return std::bit_cast<T>(Float<T>::kNan);
  return divided == 0 ? T{0} : divided;
}

TEST_CASE("deliver and scatter divide, make every NaN canonical and no zero negative") {
  for (const Kind kind : kDenseKinds) {
    for (const int divisor : {1, 2, 3, 16}) {
      INFO(test::name_of(kind) << ", divisor " << divisor);
      auto in = sparse_of<float>(kind, 300, 12);
      in.push_back({400, std::bit_cast<float>(0xffc12345u)});
      in.push_back({401, -0.0f});
      in.push_back({402, -1e-45f});
      Entries<float> want = in;
      std::vector<float> want_dense(500, 0.0f);
      for (auto& entry : want) {
        entry.value = naive_finish(entry.value, divisor);
        want_dense[entry.index] = entry.value;
      }
      Backend<float, uint32_t> backend;
      const SparseBuffer out = backend.kernels().sparse(in.size());
      backend.kernels().deliver(backend.put(in), divisor, out);
      CHECK(test::difference("delivered", backend.get(out), want) == "");
      std::vector<float> dense(500, 8.0f);
      backend.kernels().scatter(backend.put(in), divisor, {0, dense.size()}, dense.data());
      CHECK(test::difference("scattered", dense, want_dense) == "");
    }
  }
}

TEST_CASE("scatter of nothing gives zeros, of a dense vector all of it") {
  Backend<double, uint64_t> backend;
  std::vector<double> dense(9, 8.0);
  backend.kernels().scatter(backend.put({}), 1, {0, dense.size()}, dense.data());
  CHECK(dense == std::vector<double>(9, 0.0));
  backend.kernels().scatter(backend.put_dense({2, 4, 6, 8, 10, 12, 14, 16, 18}), 2, {0, 9},
                            dense.data());
  CHECK(dense == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  backend.kernels().scatter(backend.put({}), 1, {0, 0}, nullptr);
}

TEST_CASE("scatter into a region writes its elements only, in front of which there are none") {
  const Entries<float> in{{4000, 1.0f}, {4001, 2.0f}, {12000, 3.0f}};
  Backend<float, uint32_t> backend;
  std::vector<float> dense(9002, 8.0f);
  backend.kernels().scatter(backend.put(in), 1, {3999, 13000}, dense.data());
  std::vector<float> want(9001, 0.0f);
  want[1] = 1;
  want[2] = 2;
  want[8001] = 3;
  want.push_back(8.0f);
  CHECK(test::difference("scattered", dense, want) == "");
}

TEST_CASE("accumulate adds a residual or copies; zero clears") {
  Backend<float, uint32_t> backend;
  const std::vector<float> g{1, -0.0f, 3}, r{4, -0.0f, -3};
  std::vector<float> acc(3);
  backend.kernels().accumulate({g.data(), 3, {r.data(), nullptr}}, acc.data());
  CHECK(test::difference("acc", acc, {5, -0.0f, 0}) == "");
  backend.kernels().accumulate({g.data(), 3, {nullptr, nullptr}}, acc.data());
  CHECK(test::difference("acc", acc, g) == "");
  backend.kernels().zero(acc.data(), 2);
  CHECK(test::difference("acc", acc, {0, 0, 3}) == "");
}

TEST_CASE("copy_canonical copies all but the bits of NaNs") {
  const std::vector<float> from{1, -0.0f, std::bit_cast<float>(0xff800001u), -kInfinite<float>};
  const std::vector<float> want{1, -0.0f, std::bit_cast<float>(0x7fc00000u), -kInfinite<float>};
  Backend<float, uint32_t> backend;
  std::vector<float> to(4);
  backend.kernels().copy_canonical(from.data(), 4, to.data());
  CHECK(test::difference("copy", to, want) == "");
}

TEST_CASE("scale multiplies by the factor rounded to the type; 0 clears whatever there is") {
  Backend<float, uint32_t> backend;
  const std::vector<float> all{3, -0.0f, kInfinite<float>, kNotANumber<float>, 1e-45f};
  std::vector<float> values = all;
  backend.kernels().scale(values.data(), values.size(), 0.1);
  CHECK(test::difference("scaled", values,
                         {3 * 0.1f, -0.0f, kInfinite<float>, kNotANumber<float>, 0}) == "");
  for (const double zero : {0.0, -0.0}) {
    values = all;
    backend.kernels().scale(values.data(), values.size(), zero);
    CHECK(test::difference("cleared", values, {0, 0, 0, 0, 0}) == "");
  }
  values = all;
  backend.kernels().scale(values.data(), values.size(), 1e-60);  // 0 in float, but not 0
  CHECK(std::isnan(values[2]));
}

TEST_CASE("check_indices names the first that does not rise below count") {
  const auto first_bad = [](const Entries<float>& in, uint64_t count) {
    Backend<float, uint64_t> backend;
    uint64_t* bad = backend.kernels().counts(1);
    backend.kernels().check_indices(backend.put(in), {0, count}, bad);
    return *bad;
  };
  CHECK(first_bad({}, 0) == 0);
  CHECK(first_bad({{0, 1.0f}}, 1) == 1);
  CHECK(first_bad({{0, 1.0f}}, 0) == 0);
  CHECK(first_bad({{1, 1.0f}, {2, 1.0f}, {9, 1.0f}}, 10) == 3);
  CHECK(first_bad({{1, 1.0f}, {2, 1.0f}, {10, 1.0f}}, 10) == 2);
  CHECK(first_bad({{1, 1.0f}, {1, 1.0f}, {9, 1.0f}}, 10) == 1);
  CHECK(first_bad({{5, 1.0f}, {4, 1.0f}, {9, 1.0f}}, 10) == 1);
  CHECK(first_bad({{~uint64_t{0}, 1.0f}}, ~uint64_t{0}) == 0);
  CHECK(first_bad({{~uint64_t{0} - 1, 1.0f}}, ~uint64_t{0}) == 1);
}

TEST_CASE("check_indices names the first that is not within the region") {
  const auto first_bad = [](const Entries<float>& in) {
    Backend<float, uint64_t> backend;
    uint64_t* const bad = backend.kernels().counts(1);
    backend.kernels().check_indices(backend.put(in), {5, 8}, bad);
    return *bad;
  };
  CHECK(first_bad({{5, 1.0f}, {7, 1.0f}}) == 2);
  CHECK(first_bad({{4, 1.0f}, {7, 1.0f}}) == 0);
  CHECK(first_bad({{5, 1.0f}, {6, 1.0f}, {8, 1.0f}}) == 2);
}

// The bad index is found by the plain loop and by the loop of every level, wherever it is in a
// group of indices that are compared together.
TEST_CASE("check_indices finds an index that does not rise at every position") {
  constexpr uint64_t kMiddle = uint64_t{1} << 31;  // as signed numbers, indices fall here
  for (const auto level : {std::optional<host::Simd>{}, std::optional(host::best_simd())}) {
    for (size_t n = 2; n < 50; ++n) {
      for (size_t at = 1; at <= n; ++at) {
        Entries<float> equal, lower, low;
        for (size_t j = 0; j < n; ++j) {
          const uint64_t rising = 2 * j, past = j >= at ? 1 : 0;
          equal.push_back({kMiddle - 20 + rising - (j == at ? 2 : 0), 1.0f});
          lower.push_back({kMiddle - 20 + rising - (j == at ? 3 : 0), 1.0f});
          low.push_back({kMiddle * (1 - past) + rising, 1.0f});
        }
        for (const auto& in : {equal, lower, low}) {
          Backend<float, uint32_t> backend(level);
          uint64_t* const bad = backend.kernels().counts(1);
          backend.kernels().check_indices(backend.put(in), {0, uint64_t{1} << 32}, bad);
          if (*bad == at) continue;
          FAIL_CHECK(n << " entries, wrong at " << at << ": found " << *bad);
        }
      }
    }
  }
}

/// Scatters into memory at every offset from an aligned address, and compares all bytes around.
template <class T>
void check_scatter_past_caches(host::Simd level) {
  Backend<T, uint32_t> backend(level);
  backend.write_past_caches();
  constexpr size_t kBefore = 5000, kMost = 9000, kAround = 40;
  auto* const memory = backend.arena().template take<T>(kMost + kAround);
  const auto in = sparse_of<T>(Kind::kHeavyTail, kBefore + kMost, 3);
  const SparseSpan entries = backend.put(in);
  for (const size_t offset : {size_t{0}, size_t{1}, kAlignment / sizeof(T) - 1})
    for (const size_t length :
         {size_t{0}, size_t{1}, size_t{1024}, size_t{2048}, size_t{2049}, kMost}) {
      INFO("level " << static_cast<int>(level) << ", offset " << offset << ", length " << length);
      std::fill_n(memory, kMost + kAround, T{8});
      backend.kernels().scatter(entries, 1, {kBefore, kBefore + length}, memory + offset);
      std::vector<T> want(kMost + kAround, T{8});
      std::fill_n(want.begin() + static_cast<std::ptrdiff_t>(offset), length, T{0});
      for (const auto& entry : in)
        if (entry.index >= kBefore && entry.index < kBefore + length)
          want[entry.index - kBefore + offset] = naive_finish(entry.value, 1);
      CHECK(test::difference("scattered", std::vector<T>(memory, memory + kMost + kAround), want) ==
            "");
    }
}

TEST_CASE("scatter past the caches writes the same") {
  for (const auto level : {host::Simd::portable, host::Simd::avx2, host::Simd::avx512}) {
    if (!host::find_filters(level)) continue;
    check_scatter_past_caches<float>(level);
    check_scatter_past_caches<double>(level);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
