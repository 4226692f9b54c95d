// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares the host's selection with naive code: accumulate_select, top_k, above, histograms of
// keys.

#include "kernels/naive.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::unit {
namespace {

template <class T>
Entries<T> entries_of(const std::vector<T>& dense) {
  Entries<T> entries;
  for (size_t i = 0; i < dense.size(); ++i) entries.push_back({i, dense[i]});
  return entries;
}

template <class T, class I>
std::string check_accumulate_select(const std::vector<T>& gradient, const std::vector<T>& residual,
                                    size_t k) {
  const size_t n = gradient.size();
  Backend<T, I> backend;
  std::vector<T> acc(n), next(n, T{-7});
  for (size_t i = 0; i < n; ++i) acc[i] = gradient[i] + residual[i];
  const Entries<T> want = naive_top_k(one_nan(entries_of(acc)), k);
  const SparseBuffer selected = backend.kernels().sparse(std::min(k, n));
  backend.kernels().accumulate_select({gradient.data(), n, {residual.data(), next.data()}}, k,
                                      selected);
  std::string differs = test::difference("selected", backend.get(selected), want);
  for (const auto& entry : want) acc[entry.index] = 0;
  if (differs.empty()) differs = test::difference("residual", one_nan(next), one_nan(acc));
  if (!differs.empty()) return differs;

  const SparseBuffer bare = backend.kernels().sparse(std::min(k, n));
  backend.kernels().accumulate_select({gradient.data(), n, {}}, k, bare);
  return test::difference("selected without a residual", backend.get(bare),
                          naive_top_k(one_nan(entries_of(gradient)), k));
}

TEST_CASE("accumulate_select takes the k largest of gradient + residual, the rest stays") {
  for (const test::Kind kind : kDenseKinds) {
    for (const size_t n : lengths()) {
      const auto doubles = dense_of<double>(kind, n, 5);
      const auto floats = dense_of<float>(kind, n, 6);
      const auto residual = dense_of<float>(test::Kind::kHeavyTail, n, 7);
      for (const size_t k : some_k(n)) {
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k);
        const std::vector<float> nothing(n, 0.0f);
        CHECK(check_accumulate_select<float, uint32_t>(floats, nothing, k) == "");
        CHECK(check_accumulate_select<float, uint64_t>(floats, residual, k) == "");
        CHECK(check_accumulate_select<double, uint32_t>(doubles, doubles, k) == "");
      }
    }
  }
}

template <class T, class I>
std::string check_top_k(const Entries<T>& in, size_t k) {
  Backend<T, I> backend;
  const SparseSpan span = backend.put(in);
  const SparseBuffer kept = backend.kernels().sparse(std::min(k, in.size()));
  const SparseBuffer dropped = backend.kernels().sparse(std::max<size_t>(in.size(), 1));
  backend.kernels().top_k(span, k, kept, dropped);
  const Entries<T> want = naive_top_k(in, k);
  std::string differs = test::difference("kept", backend.get(kept), want);
  if (differs.empty())
    differs = test::difference("dropped", backend.get(dropped), naive_rest(in, want));
  if (!differs.empty()) return differs;
  const SparseBuffer alone = backend.kernels().sparse(std::min(k, in.size()));
  backend.kernels().top_k(span, k, alone, SparseBuffer{});
  return test::difference("kept, dropped not wanted", backend.get(alone), want);
}

TEST_CASE("top_k keeps the k largest of a sparse vector and names the other non-zeros") {
  for (const test::Kind kind : kDenseKinds) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{130}, size_t{3000}}) {
      const auto floats = sparse_of<float>(kind, n, 3, 1000);
      const auto doubles = sparse_of<double>(kind, n, 4, uint64_t{1} << 40);
      for (const size_t k : some_k(floats.size())) {
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k);
        CHECK(check_top_k<float, uint32_t>(floats, k) == "");
        CHECK(check_top_k<double, uint64_t>(doubles, k) == "");
      }
    }
  }
}

TEST_CASE("top_k of many entries, whatever a sample of them says") {
  constexpr size_t kMany = 40000;
  const auto check = [](const Entries<float>& floats, const Entries<double>& doubles) {
    const size_t n = floats.size();
    for (const size_t k : {size_t{1}, n / 100, n / 2, n - n / 20, n - 1, n}) {
      INFO("k = " << k);
      CHECK(check_top_k<float, uint32_t>(floats, k) == "");
      CHECK(check_top_k<float, uint64_t>(floats, k) == "");
      CHECK(check_top_k<double, uint32_t>(doubles, k) == "");
    }
  };
  for (const test::Kind kind : kDenseKinds) {
    INFO(test::name_of(kind));
    check(sparse_of<float>(kind, kMany, 3, 1000), sparse_of<double>(kind, kMany, 4, 1000));
  }
  // Values at equal distances, where a sample may lie, are larger, or smaller, than all others.
  for (const bool large : {true, false}) {
    INFO(large);
    Entries<float> floats;
    Entries<double> doubles;
    for (size_t j = 0; j < kMany; ++j) {
      const double value = 1 + static_cast<double>(test::noise(5, j) % 1000);
      const double scale = (j % (kMany / 1024) == 0) == large ? 1000 : 0.001;
      floats.push_back({3 * j, static_cast<float>(value * scale)});
      doubles.push_back({3 * j, value * scale});
    }
    check(floats, doubles);
  }
}

/// Selects few entries, and many, which takes another path. The other entries are smaller.
template <class T, class I>
void check_few_and_many(Entries<T> in) {
  const size_t few = in.size();
  for (const size_t k : {size_t{1}, size_t{2}, few - 1, few}) CHECK(check_top_k<T, I>(in, k) == "");
  for (uint64_t i = 100; i < 1000; ++i) in.push_back({i, in[0].value / 1024});
  for (const size_t k : {size_t{1}, size_t{2}, few - 1, few, few + 1})
    CHECK(check_top_k<T, I>(in, k) == "");
}

TEST_CASE("values one bit apart are told apart, for every digit of the key") {
  for (int bit = 0; bit < 62; ++bit) {
    Entries<double> in;
    const uint64_t base = 0x2aaaaaaaaaaaaaaaull & ~(uint64_t{1} << bit);
    for (uint64_t i = 0; i < 9; ++i)
      in.push_back({i, std::bit_cast<double>(i == 4 ? base | uint64_t{1} << bit : base)});
    INFO("bit " << bit);
    check_few_and_many<double, uint32_t>(in);
  }
  for (int bit = 0; bit < 30; ++bit) {
    Entries<float> in;
    const uint32_t base = 0x2aaaaaaau & ~(1u << bit);
    for (uint64_t i = 0; i < 9; ++i)
      in.push_back({i, std::bit_cast<float>(i == 4 ? base | 1u << bit : base)});
    INFO("bit " << bit);
    check_few_and_many<float, uint64_t>(in);
  }
}

TEST_CASE("keys order values as the contract does") {
  const std::vector<float> rising{0.0f,     1e-45f, 1e-38f,           1.0f,
                                  1.00001f, 3e38f,  kInfinite<float>, kNotANumber<float>};
  for (size_t i = 0; i < rising.size(); ++i) {
    CHECK(key_of(-rising[i]) == key_of(rising[i]));
    CHECK(key_of(rising[i]) < kKeyEnd<float>);
    if (i > 0) CHECK(key_of(rising[i - 1]) < key_of(rising[i]));
  }
  CHECK(key_of(0.0f) == 0);
  CHECK(key_of(-0.0) == 0);
  CHECK(key_of(std::bit_cast<float>(0xffbaadu | 0x7f800000u)) == key_of(kNotANumber<float>));
  CHECK(key_of(std::bit_cast<double>(0xfff0000000000001ull)) == key_of(kNotANumber<double>));
  CHECK(kKeyEnd<double> == uint64_t{key_of(kNotANumber<double>)} + 1);
  Backend<float, uint32_t> narrow;
  CHECK(narrow.kernels().keys().end == kKeyEnd<float>);
  CHECK(key_of(4.0f) - key_of(2.0f) == 1u << narrow.kernels().keys().octave);
  Backend<double, uint32_t> wide;
  CHECK(wide.kernels().keys().end == kKeyEnd<double>);
  CHECK(key_of(4.0) - key_of(2.0) == uint64_t{1} << wide.kernels().keys().octave);
}

template <class T>
void check_above(const Entries<T>& in, const Threshold& threshold) {
  Backend<T, uint32_t> backend;
  const SparseBuffer out = backend.kernels().sparse(in.size());
  backend.kernels().select_above(backend.put(in), threshold, out);
  Entries<T> want;
  uint64_t ties = threshold.ties;
  for (const auto& entry : in) {
    const uint64_t key = key_of(entry.value);
    if (key > threshold.key || (key == threshold.key && ties > 0)) want.push_back(entry);
    if (key == threshold.key && ties > 0) --ties;
  }
  CHECK(test::difference("above", backend.get(out), want) == "");
}

TEST_CASE("above passes what is above, and of the ties as many as the budget allows") {
  const auto integers = sparse_of<float>(test::Kind::kIntegers, 500, 8);
  const auto odd = sparse_of<double>(test::Kind::kInfinityClash, 500, 9);
  for (const uint64_t ties : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{13}, ~uint64_t{0}}) {
    INFO("ties " << ties);
    for (const float value : {1.0f, 3.0f, 8.0f, 9.0f, 0.5f})
      check_above<float>(integers, {key_of(value), ties});
    for (const double value : {1.0, kInfinite<double>, kNotANumber<double>})
      check_above<double>(odd, {key_of(value), ties});
    check_above<float>(integers, {kKeyEnd<float>, ties});
  }
  check_above<float>(integers, {0, 0});
  check_above<float>(integers, {});
  check_above<float>({}, {5, 5});
}

template <class T>
void check_key_histogram(const Entries<T>& in, const KeyBins& bins) {
  Backend<T, uint32_t> backend;
  uint64_t* counted = backend.kernels().counts(bins.bins + 1);
  backend.kernels().key_histogram(backend.put(in), bins, counted);
  std::vector<uint64_t> want(bins.bins + 1);
  for (const auto& entry : in) {
    const uint64_t key = key_of(entry.value);
    for (size_t b = 0; b < bins.bins; ++b) {
      const uint64_t begin = bins.begin + (uint64_t{b} << bins.shift);
      if (key >= begin && key - begin < uint64_t{1} << bins.shift) ++want[b];
    }
    if (key >= bins.end()) ++want[bins.bins];
  }
  CHECK(std::vector<uint64_t>(counted, counted + bins.bins + 1) == want);
}

TEST_CASE("key histograms count every non-zero from their begin on") {
  for (const test::Kind kind : kDenseKinds) {
    INFO(test::name_of(kind));
    const auto floats = sparse_of<float>(kind, 700, 2);
    const auto doubles = sparse_of<double>(kind, 700, 2);
    check_key_histogram<float>(floats, {1, 23, 256});
    check_key_histogram<float>(floats, {key_of(1.0f), 16, 100});
    check_key_histogram<float>(floats, {key_of(2.0f), 0, 3});
    check_key_histogram<float>(floats, {key_of(kInfinite<float>), 0, 2});
    check_key_histogram<float>(floats, {1, 32, 1});
    check_key_histogram<float>(floats, {key_of(1.0f), 23, 1});
    check_key_histogram<double>(doubles, {1, 55, 256});
    check_key_histogram<double>(doubles, {1, 63, 1});
    check_key_histogram<double>(doubles, {key_of(1.0), 50, 9});
    check_key_histogram<double>({}, {1, 55, 256});
  }
}

TEST_CASE("index histograms count every entry, zeros too") {
  for (const uint64_t width : {uint64_t{1}, uint64_t{7}, uint64_t{1} << 41}) {
    const auto in = sparse_of<float>(test::Kind::kSignedZeros, 300, 1, width == 1 ? 1 : width / 5);
    Backend<float, uint64_t> backend;
    const size_t bins = in.empty() ? 1 : in.back().index / width + 1;
    uint64_t* counted = backend.kernels().counts(bins);
    backend.kernels().index_histogram(backend.put(in), width, counted);
    std::vector<uint64_t> want(bins);
    for (const auto& entry : in) ++want[entry.index / width];
    CHECK(std::vector<uint64_t>(counted, counted + bins) == want);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
