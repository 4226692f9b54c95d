// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares sums on the host with naive code: merge, merge_above, concatenate.

#include "kernels/naive.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::unit {
namespace {

using host::Simd;
using test::Kind;

/// Returns sizes of memory for a sum: as many entries as it has, or as many as all inputs have.
template <class T>
std::vector<size_t> rooms_for(const Entries<T>& sum, const std::vector<Entries<T>>& inputs) {
  size_t all = 0;
  for (const Entries<T>& input : inputs) all += input.size();
  return {sum.size(), all};
}

/// A sparse vector to be written, which detects writes behind its end.
template <class T, class I>
class Guarded {
 public:
  Guarded(Backend<T, I>& backend, size_t capacity)
      : whole_(backend.kernels().sparse(capacity + kBehind)), capacity_(capacity) {
    std::fill_n(static_cast<I*>(whole_.index) + capacity, kBehind, I{123});
    std::fill_n(static_cast<T*>(whole_.value) + capacity, kBehind, T{123});
  }
  SparseBuffer buffer() const { return {whole_.index, whole_.value, whole_.nnz, capacity_}; }
  std::string damage() const {
    const I* const index = static_cast<const I*>(whole_.index) + capacity_;
    const T* const value = static_cast<const T*>(whole_.value) + capacity_;
    const bool whole = std::count(index, index + kBehind, I{123}) == kBehind &&
                       std::count(value, value + kBehind, T{123}) == kBehind;
    return whole ? "" : "written behind the end of " + std::to_string(capacity_);
  }

 private:
  static constexpr std::ptrdiff_t kBehind = 20;
  SparseBuffer whole_;
  size_t capacity_;
};

template <class T, class I>
std::string check_merge(const std::vector<Entries<T>>& inputs) {
  Backend<T, I> backend;
  std::vector<SparseSpan> spans;
  for (const Entries<T>& input : inputs) spans.push_back(backend.put(input));
  const Entries<T> want = naive_sum(inputs);
  std::string differs;
  for (const size_t room : rooms_for(want, inputs)) {
    Guarded<T, I> sum(backend, room);
    backend.kernels().merge(spans, sum.buffer());
    differs += test::difference("sum in room for " + std::to_string(room),
                                one_nan(backend.get(sum.buffer())), one_nan(want));
    differs += sum.damage();
  }
  return differs;
}

/// Returns the limits of the range of keys, keys of some entries, and keys that a half, few or
/// hardly any entries reach.
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

/// Checks the plain loops, and each level of vector instructions that this machine has.
template <class T, class I>
std::string check_merge_above(const std::vector<Entries<T>>& inputs) {
  const Entries<T> sum = naive_sum(inputs);
  std::string differs;
  for (const auto level : {std::optional<Simd>{}, std::optional(Simd::portable),
                           std::optional(Simd::avx2), std::optional(Simd::avx512)}) {
    if (level && !host::find_filters(*level)) continue;
    Backend<T, I> backend(level);
    std::vector<SparseSpan> spans;
    for (const Entries<T>& input : inputs) spans.push_back(backend.put(input));
    for (const uint64_t key : some_keys(sum)) {
      Entries<T> want = sum;
      std::erase_if(want, [key](const auto& entry) { return key_of(entry.value) < key; });
      for (const size_t room : rooms_for(sum, inputs)) {
        Guarded<T, I> out(backend, room);
        backend.kernels().merge_above(spans, key, out.buffer());
        differs += test::difference("from key " + std::to_string(key),
                                    one_nan(backend.get(out.buffer())), one_nan(want));
        differs += out.damage();
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
        INFO(test::name_of(kind) << ", " << count << " inputs of " << n);
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
  CHECK(check_merge_above<float, uint32_t>({last, last}) == "");
  CHECK(check_merge_above<float, uint32_t>({last, last, {{0, 5.0f}, {0xffffffff, -4000.0f}}}) ==
        "");
}

TEST_CASE("merge adds by index, in the order of the inputs, zeros kept") {
  for (const Kind kind : kDenseKinds) {
    for (const size_t count : {1, 2, 3, 7, 17}) {
      for (const size_t n : {size_t{0}, size_t{1}, size_t{100}, size_t{20000}}) {
        std::vector<Entries<float>> narrow;
        std::vector<Entries<double>> wide;
        for (size_t p = 0; p < count; ++p) {
          narrow.push_back(p % 3 == 1 ? Entries<float>{} : sparse_of<float>(kind, n, p));
          // The indices lie in one tile or in tiles that are far apart.
          wide.push_back(sparse_of<double>(kind, n, p, p % 2 == 0 ? 3 : 9000, 1ull << (20 + p)));
        }
        INFO(test::name_of(kind) << ", " << count << " inputs of " << n);
        CHECK(check_merge<float, uint32_t>(narrow) == "");
        CHECK(check_merge<double, uint64_t>(wide) == "");
      }
    }
  }
}

/// Returns entries at every `stride`-th index from `first` on.
template <class T>
Entries<T> every(size_t n, uint64_t stride, uint64_t first) {
  const std::vector<T> values = dense_of<T>(Kind::kSignedZeros, n, first);
  Entries<T> entries;
  for (size_t j = 0; j < n; ++j) entries.push_back({first + j * stride, values[j]});
  return entries;
}

// From 64 entries on, two inputs are cut into chunks: between entries, beside an index that both
// have, or behind one of them.
TEST_CASE("two inputs of any lengths, apart, mixed and alike") {
  for (const size_t a : {0, 1, 31, 32, 33, 63, 64, 65, 200, 3001}) {
    for (const size_t b : {1, 31, 32, 33, 63, 64, 200, 3000}) {
      const auto first = every<float>(a, 3, 9);
      const auto wide = every<double>(a, 3, 9);
      INFO(a << " and " << b << " entries");
      // The second vector has the same indices, some of them, indices in between, or later ones.
      for (const auto& [stride, begin] : {std::pair(3, 9), {2, 9}, {6, 12}, {3, 10}, {1, 9100}}) {
        const auto second = every<float>(b, static_cast<uint64_t>(stride), begin);
        CHECK(check_merge<float, uint32_t>({first, second}) == "");
        CHECK(check_merge<float, uint32_t>({second, first}) == "");
        CHECK(check_merge_above<float, uint32_t>({first, second}) == "");
        CHECK(check_merge<double, uint64_t>(
                  {wide, every<double>(b, static_cast<uint64_t>(stride), begin)}) == "");
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

TEST_CASE("no inputs add up to nothing") {
  CHECK(check_merge<float, uint32_t>({}) == "");
  CHECK(check_merge_above<double, uint64_t>({}) == "");
}

TEST_CASE("the order of the inputs shows in the rounding") {
  const Entries<float> large{{5, 1e8f}}, small{{5, 3.0f}}, minus{{5, -1e8f}};
  CHECK(check_merge<float, uint32_t>({large, small, minus}) == "");
  CHECK(check_merge<float, uint32_t>({large, minus, small}) == "");
  CHECK(naive_sum<float>({large, small, minus})[0].value !=
        naive_sum<float>({large, minus, small})[0].value);
}

TEST_CASE("merge of dense inputs adds element by element in their order") {
  for (const Kind kind : kDenseKinds) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}}) {
      Backend<float, uint32_t> backend;
      std::vector<SparseSpan> inputs;
      std::vector<float> want;
      for (uint64_t p = 0; p < 4; ++p) {
        const auto values = dense_of<float>(kind, n, p);
        inputs.push_back(backend.put_dense(values));
        if (p == 0) want = values;
        for (size_t i = 0; p > 0 && i < n; ++i) want[i] = want[i] + values[i];
      }
      uint64_t nnz = 99;
      std::vector<float> sum(n);
      backend.kernels().merge(inputs, {nullptr, sum.data(), &nnz, n});
      INFO(test::name_of(kind));
      CHECK(nnz == n);
      CHECK(test::difference("sum", one_nan(sum), one_nan(want)) == "");
    }
  }
}

TEST_CASE("concatenate puts inputs of rising ranges one behind the other") {
  Backend<double, uint64_t> backend;
  std::vector<SparseSpan> inputs;
  Entries<double> want;
  for (uint64_t p = 0; p < 6; ++p) {
    const auto input =
        p % 3 == 2 ? Entries<double>{} : sparse_of<double>(Kind::kNotFinite, 50, p, 1, p * 50);
    inputs.push_back(backend.put(input));
    want.insert(want.end(), input.begin(), input.end());
  }
  const SparseBuffer out = backend.kernels().sparse(want.size());
  backend.kernels().concatenate(inputs, out);
  CHECK(test::difference("all", backend.get(out), want) == "");
  backend.kernels().concatenate({}, out);
  CHECK(backend.get(out).empty());
}

}  // namespace
}  // namespace sparsecoll::unit
