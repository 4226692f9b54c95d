// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sums and results on the host against naive code: merge, concatenate, put_back, deliver, scatter,
// check_indices.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "unit/naive.hpp"

namespace sparsecoll::unit {
namespace {

using host::Simd;
using test::Kind;

/// Room for a sum: what it needs, or all that goes into it.
template <class T>
std::vector<size_t> rooms_for(const Entries<T>& sum, const std::vector<Entries<T>>& pieces) {
  size_t all = 0;
  for (const Entries<T>& piece : pieces) all += piece.size();
  return {sum.size(), all};
}

template <class T, class I>
std::string check_merge(const std::vector<Entries<T>>& pieces) {
  Place<T, I> place;
  std::vector<SparseSpan> spans;
  for (const Entries<T>& piece : pieces) spans.push_back(place.put(piece));
  const Entries<T> want = naive_sum(pieces);
  std::string differs;
  for (const size_t room : rooms_for(want, pieces)) {
    const SparseBuffer sum = place.kernels().sparse(room);
    place.kernels().merge(spans, sum);
    differs += test::difference("sum in room for " + std::to_string(room), one_nan(place.get(sum)),
                                one_nan(want));
  }
  return differs;
}

/// Keys at which a choice among these entries is worth a look.
template <class T>
std::vector<uint64_t> some_keys(const Entries<T>& entries) {
  constexpr uint64_t infinity = key_of(kInfinite<T>);
  std::vector<uint64_t> keys{1, infinity, infinity + 1};
  for (const size_t j : {entries.size() / 7, entries.size() / 2}) {
    if (j >= entries.size()) continue;
    const uint64_t key = key_of(entries[j].value);
    keys.insert(keys.end(), {std::max<uint64_t>(key, 1), std::min(key + 1, infinity + 1)});
  }
  if (entries.empty()) return keys;
  Entries<T> by_key = entries;
  std::ranges::sort(by_key, {}, [](const auto& entry) { return key_of(entry.value); });
  for (const size_t part : {2, 50, 5000})  // a half, few, hardly any
    keys.push_back(
        std::max<uint64_t>(key_of(by_key[by_key.size() - 1 - by_key.size() / part].value), 1));
  return keys;
}

/// By the plain loops, and by each level that this machine has.
template <class T, class I>
std::string check_merge_above(const std::vector<Entries<T>>& pieces) {
  const Entries<T> sum = naive_sum(pieces);
  std::string differs;
  for (const auto level : {std::optional<Simd>{}, std::optional(Simd::portable),
                           std::optional(Simd::avx2), std::optional(Simd::avx512)}) {
    if (level && !host::find_sweeps(*level)) continue;
    Place<T, I> place(level);
    std::vector<SparseSpan> spans;
    for (const Entries<T>& piece : pieces) spans.push_back(place.put(piece));
    for (const uint64_t key : some_keys(sum)) {
      Entries<T> want = sum;
      std::erase_if(want, [key](const auto& entry) { return key_of(entry.value) < key; });
      for (const size_t room : rooms_for(sum, pieces)) {
        const SparseBuffer out = place.kernels().sparse(room);
        place.kernels().merge_above(spans, key, out);
        differs += test::difference("from key " + std::to_string(key), one_nan(place.get(out)),
                                    one_nan(want));
      }
    }
  }
  return differs;
}

TEST_CASE("merge_above adds by index and writes what is large enough") {
  for (const Kind kind : kDenseKinds) {
    for (const size_t count : {1, 2, 3, 7}) {
      for (const size_t n : {size_t{0}, size_t{1}, size_t{100}, size_t{40000}}) {
        std::vector<Entries<float>> often, rarely;
        std::vector<Entries<double>> wide, narrow;
        for (size_t p = 0; p < count; ++p) {
          often.push_back(p % 3 == 1 ? Entries<float>{} : sparse_of<float>(kind, n, p, 1, 1000));
          rarely.push_back(sparse_of<float>(kind, n / 50, p, 500));
          wide.push_back(sparse_of<double>(kind, n / 10, p, p % 2 == 0 ? 3 : 9000, 1ull << 33));
          narrow.push_back(sparse_of<double>(kind, n / 4, p, 1 + p));
        }
        INFO(test::name_of(kind) << ", " << count << " pieces of " << n);
        CHECK(check_merge_above<float, uint32_t>(often) == "");
        CHECK(check_merge_above<float, uint32_t>(rarely) == "");
        CHECK(check_merge_above<double, uint64_t>(wide) == "");
        CHECK(check_merge_above<double, uint32_t>(narrow) == "");
      }
    }
  }
}

TEST_CASE("merge_above reaches the last index of a type") {
  Entries<float> last;
  for (uint64_t i = 0; i < 3000; ++i) last.push_back({(uint64_t{1} << 32) - 3000 + i, 1.0f + i});
  CHECK(check_merge_above<float, uint32_t>({last}) == "");
  CHECK(check_merge_above<float, uint32_t>({last, last, {{0, 5.0f}, {0xffffffff, -4000.0f}}}) ==
        "");
}

TEST_CASE("merge adds by index, in the order of the pieces, zeros kept") {
  for (const Kind kind : kDenseKinds) {
    for (const size_t count : {1, 2, 3, 7, 17}) {
      for (const size_t n : {size_t{0}, size_t{1}, size_t{100}, size_t{20000}}) {
        std::vector<Entries<float>> narrow;
        std::vector<Entries<double>> wide;
        for (size_t p = 0; p < count; ++p) {
          narrow.push_back(p % 3 == 1 ? Entries<float>{} : sparse_of<float>(kind, n, p));
          // From one tile to tiles far apart.
          wide.push_back(sparse_of<double>(kind, n, p, p % 2 == 0 ? 3 : 9000, 1ull << (20 + p)));
        }
        INFO(test::name_of(kind) << ", " << count << " pieces of " << n);
        CHECK(check_merge<float, uint32_t>(narrow) == "");
        CHECK(check_merge<double, uint64_t>(wide) == "");
      }
    }
  }
}

// Two pieces are cut into stretches, wherever that is: between others, beside what both have,
// behind one of them.
TEST_CASE("two pieces of any lengths, apart, mixed and alike") {
  for (const size_t a : {0, 1, 31, 32, 33, 64, 200, 3001}) {
    for (const size_t b : {1, 32, 63, 200, 3000}) {
      for (const uint64_t gap : {1, 50}) {
        const auto first = sparse_of<float>(Kind::kHeavyTail, a, 1, gap, 10);
        const auto alike = sparse_of<float>(Kind::kIntegers, b, 1, gap, 10);
        const auto mixed = sparse_of<float>(Kind::kSignedZeros, b, 2, gap, 10);
        const auto behind = sparse_of<float>(Kind::kHeavyTail, b, 3, gap, 10 + 9000 * gap);
        INFO(a << " and " << b << " entries, gaps of " << gap);
        for (const auto& second : {alike, mixed, behind}) {
          CHECK(check_merge<float, uint32_t>({first, second}) == "");
          CHECK(check_merge<float, uint32_t>({second, first}) == "");
          CHECK(check_merge_above<float, uint32_t>({first, second}) == "");
        }
      }
    }
  }
}

TEST_CASE("merge reaches the ends of the index types and keeps a lone -0") {
  CHECK(check_merge<float, uint32_t>({{{0, 1.0f}, {0xffffffff, 2.0f}},
                                      {{8191, -0.0f}, {8192, 3.0f}, {0xffffffff, -2.0f}}}) == "");
  CHECK(check_merge<double, uint64_t>({{{0, 1.0}, {~uint64_t{0} - 1, 2.0}},
                                       {{~uint64_t{0} - 1, 1.0}, {~uint64_t{0}, -0.0}}}) == "");
  CHECK(check_merge<float, uint32_t>(
            {{{1, 1.0f}, {0xffffffff, 2.0f}}, {{0, -0.0f}, {0xffffffff, -2.0f}}, {}}) == "");
  CHECK(check_merge<double, uint64_t>(
            {{{0, 1.0}, {~uint64_t{0} - 1, 2.0}}, {{~uint64_t{0}, -0.0}}, {}}) == "");
}

TEST_CASE("the order of the pieces shows in the rounding") {
  const Entries<float> large{{5, 1e8f}}, small{{5, 3.0f}}, minus{{5, -1e8f}};
  CHECK(check_merge<float, uint32_t>({large, small, minus}) == "");
  CHECK(check_merge<float, uint32_t>({large, minus, small}) == "");
  CHECK(naive_sum<float>({large, small, minus})[0].value !=
        naive_sum<float>({large, minus, small})[0].value);
}

TEST_CASE("merge of dense pieces adds element by element in their order") {
  for (const Kind kind : kDenseKinds) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}}) {
      Place<float, uint32_t> place;
      std::vector<SparseSpan> pieces;
      std::vector<float> want;
      for (uint64_t p = 0; p < 4; ++p) {
        const auto values = dense_of<float>(kind, n, p);
        pieces.push_back(place.put_dense(values));
        if (p == 0) want = values;
        for (size_t i = 0; p > 0 && i < n; ++i) want[i] = want[i] + values[i];
      }
      uint64_t nnz = 99;
      std::vector<float> sum(n);
      place.kernels().merge(pieces, {nullptr, sum.data(), &nnz, n});
      INFO(test::name_of(kind));
      CHECK(nnz == n);
      CHECK(test::difference("sum", one_nan(sum), one_nan(want)) == "");
    }
  }
}

TEST_CASE("concatenate puts pieces of rising ranges one behind the other") {
  Place<double, uint64_t> place;
  std::vector<SparseSpan> pieces;
  Entries<double> want;
  for (uint64_t p = 0; p < 6; ++p) {
    const auto piece =
        p % 3 == 2 ? Entries<double>{} : sparse_of<double>(Kind::kNotFinite, 50, p, 1, p * 50);
    pieces.push_back(place.put(piece));
    want.insert(want.end(), piece.begin(), piece.end());
  }
  const SparseBuffer out = place.kernels().sparse(want.size());
  place.kernels().concatenate(pieces, out);
  CHECK(test::difference("all", place.get(out), want) == "");
  place.kernels().concatenate({}, out);
  CHECK(place.get(out).empty());
}

template <class T>
void check_put_back(const Entries<T>& sent, const Entries<T>& delivered, const Entries<T>& dropped,
                    ResidualRule rule) {
  Place<T, uint32_t> place;
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
  place.kernels().put_back({place.put(sent), place.put(delivered), place.put(dropped), rule},
                           residual.data());
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
  Place<float, uint32_t> place;
  std::vector<float> residual(4, 1.0f);
  place.kernels().put_back(
      {place.put({{1, 5.0f}, {3, 6.0f}}), place.put_dense({1, 2, 3}), place.put({}), {}},
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
      Place<float, uint32_t> place;
      const SparseBuffer out = place.kernels().sparse(in.size());
      place.kernels().deliver(place.put(in), divisor, out);
      CHECK(test::difference("delivered", place.get(out), want) == "");
      std::vector<float> dense(500, 8.0f);
      place.kernels().scatter(place.put(in), divisor, dense.data(), dense.size());
      CHECK(test::difference("scattered", dense, want_dense) == "");
    }
  }
}

TEST_CASE("scatter of nothing gives zeros, of a dense vector all of it") {
  Place<double, uint64_t> place;
  std::vector<double> dense(9, 8.0);
  place.kernels().scatter(place.put({}), 1, dense.data(), dense.size());
  CHECK(dense == std::vector<double>(9, 0.0));
  place.kernels().scatter(place.put_dense({2, 4, 6, 8, 10, 12, 14, 16, 18}), 2, dense.data(), 9);
  CHECK(dense == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  place.kernels().scatter(place.put({}), 1, nullptr, 0);
}

TEST_CASE("accumulate adds a residual or copies; zero clears") {
  Place<float, uint32_t> place;
  const std::vector<float> g{1, -0.0f, 3}, r{4, -0.0f, -3};
  std::vector<float> acc(3);
  place.kernels().accumulate({g.data(), 3, {r.data(), nullptr}}, acc.data());
  CHECK(test::difference("acc", acc, {5, -0.0f, 0}) == "");
  place.kernels().accumulate({g.data(), 3, {nullptr, nullptr}}, acc.data());
  CHECK(test::difference("acc", acc, g) == "");
  place.kernels().zero(acc.data(), 2);
  CHECK(test::difference("acc", acc, {0, 0, 3}) == "");
}

TEST_CASE("copy_canonical copies all but the bits of NaNs") {
  const std::vector<float> from{1, -0.0f, std::bit_cast<float>(0xff800001u), -kInfinite<float>};
  const std::vector<float> want{1, -0.0f, std::bit_cast<float>(0x7fc00000u), -kInfinite<float>};
  Place<float, uint32_t> place;
  std::vector<float> to(4);
  place.kernels().copy_canonical(from.data(), 4, to.data());
  CHECK(test::difference("copy", to, want) == "");
}

TEST_CASE("scale multiplies by the factor rounded to the type; 0 clears whatever there is") {
  Place<float, uint32_t> place;
  const std::vector<float> all{3, -0.0f, kInfinite<float>, kNotANumber<float>, 1e-45f};
  std::vector<float> values = all;
  place.kernels().scale(values.data(), values.size(), 0.1);
  CHECK(test::difference("scaled", values,
                         {3 * 0.1f, -0.0f, kInfinite<float>, kNotANumber<float>, 0}) == "");
  for (const double zero : {0.0, -0.0}) {
    values = all;
    place.kernels().scale(values.data(), values.size(), zero);
    CHECK(test::difference("cleared", values, {0, 0, 0, 0, 0}) == "");
  }
  values = all;
  place.kernels().scale(values.data(), values.size(), 1e-60);  // 0 in float, but not 0
  CHECK(std::isnan(values[2]));
}

TEST_CASE("check_indices names the first that does not rise below count") {
  const auto first_bad = [](const Entries<float>& in, uint64_t count) {
    Place<float, uint64_t> place;
    uint64_t* bad = place.kernels().counts(1);
    place.kernels().check_indices(place.put(in), count, bad);
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

}  // namespace
}  // namespace sparsecoll::unit
