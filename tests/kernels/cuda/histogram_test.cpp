// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests histograms by key and by index, and the smallest key, against the host.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/naive.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::Kind;

/// Returns values of T, in its accumulation type: two-valued, all equal, and so on.
template <class T>
std::vector<Accumulation<T>> values_of(Kind kind, size_t n) {
  using Acc = Accumulation<T>;
  std::vector<Acc> values;
  if constexpr (Integer<T>) {
    for (size_t i = 0; i < n; ++i)
      values.push_back(static_cast<Acc>(test::noise(2, static_cast<uint64_t>(kind), i)) >>
                       (i % (8 * sizeof(Acc))));
  } else {
    for (const Acc value : unit::dense_of<Acc>(kind, n, 4))
      values.push_back(sparsecoll::widen(narrow<T>(value)));
  }
  return values;
}

/// Returns bins over all keys or over a few: many bins, few bins, one for each key, and one for
/// all.
template <class Acc>
std::vector<KeyBins> some_bins() {
  const int bits = static_cast<int>(std::bit_width(kKeyEnd<Acc> - 1));
  const uint64_t middle = kKeyEnd<Acc> / 2;
  return {{1, bits - 11, (kKeyEnd<Acc> >> (bits - 11)) + 1},
          {1, bits - 1, 2},
          {1, 0, 1},
          {middle, bits - 14, 2000},
          {middle, bits - 16, 20000},
          {kKeyEnd<Acc> - 3, 0, 8191},
          {kKeyEnd<Acc> - 3, 0, 8192},
          {middle, 0, 1}};
}

template <class T, class I>
void check_keys(Kind kind, size_t n) {
  using Acc = Accumulation<T>;
  Pair<Acc, I, data_type_of<T>()> pair;
  const auto values = values_of<T>(kind, n);
  const SparseSpan ours = pair.host.put_dense(values);
  SparseSpan theirs = pair.device.put_dense(values);
  theirs.nnz.bound += 3000;  // the host may know only a loose bound
  INFO(test::name_of(kind) << ", n = " << n);
  uint64_t least = 7;
  uint64_t* const their_least = pair.device.upload(std::vector<uint64_t>{7});
  pair.host.kernels().least_key(ours, &least);
  pair.device.kernels().least_key(theirs, their_least);
  CHECK(pair.device.kernels().read(their_least) == least);
  for (const KeyBins& bins : some_bins<Acc>()) {
    INFO(bins.bins << " bins of 2^" << bins.shift << " keys from " << bins.begin << " on");
    std::vector<uint64_t> want(bins.bins + 1, 3);
    uint64_t* const got = pair.device.upload(want);
    pair.host.kernels().key_histogram(ours, bins, want.data());
    pair.device.kernels().key_histogram(theirs, bins, got);
    CHECK(pair.device.template download<uint64_t>(got, want.size()) == want);
  }
}

TEST_CASE("least_key and key_histogram count as the host does") {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t n : {0, 1, 31, 2100}) {
      check_keys<float, uint32_t>(kind, n);
      check_keys<Bfloat16, uint64_t>(kind, n);
    }
    check_keys<double, uint64_t>(kind, 1000);
    check_keys<Float16, uint32_t>(kind, 1000);
  }
  check_keys<uint32_t, uint32_t>(Kind::kIntegers, 5000);
  check_keys<uint64_t, uint64_t>(Kind::kIntegers, 5000);
}

// Blocks without entries store their result at the same time; a thread sanitizer watches that.
TEST_CASE("least_key knows that there may be many entries and are none") {
  Pair<float, uint32_t, DataType::float32> pair;
  SparseSpan none = pair.device.put_dense(std::vector<float>(5000, 1.0f));
  uint64_t* const count = pair.device.kernels().counts(1);
  none.nnz.at = count;
  uint64_t* const least = pair.device.upload(std::vector<uint64_t>{7});
  pair.device.kernels().least_key(none, least);
  CHECK(pair.device.kernels().read(least) == 0);
}

template <class I>
void check_indices(const std::vector<uint64_t>& indices, uint64_t width, uint64_t bins) {
  Pair<float, I, DataType::float32> pair;
  Entries<float> entries;
  for (const uint64_t index : indices) entries.push_back({index, 1.0f});
  std::vector<uint64_t> want(bins, 3);
  uint64_t* const got = pair.device.upload(want);
  SparseSpan theirs = pair.device.put(entries);
  theirs.nnz.bound += 3000;
  pair.host.kernels().index_histogram(pair.host.put(entries), width, want.data());
  pair.device.kernels().index_histogram(theirs, width, got);
  INFO(indices.size() << " indices, width " << width);
  CHECK(pair.device.template download<uint64_t>(got, bins) == want);
}

TEST_CASE("index_histogram counts as the host does") {
  for (const size_t n : {0, 1, 2, 31, 32, 33, 64, 5000}) {
    for (const uint64_t gap : {1, 3, 50}) {
      std::vector<uint64_t> indices;
      for (uint64_t j = 0, i = 0; j < n; ++j, i += 1 + test::noise(1, gap, j) % gap)
        indices.push_back(i);
      const uint64_t count = n * gap + 1;
      for (const uint64_t width :
           {uint64_t{1}, uint64_t{7}, uint64_t{32}, uint64_t{1000}, count, ~uint64_t{0}}) {
        check_indices<uint32_t>(indices, width, count / width + 1);
        check_indices<uint64_t>(indices, width, count / width + 1);
      }
    }
  }
  check_indices<uint32_t>({0, 1, 0xfffffffe, 0xffffffff}, 0x10000000, 16);
  check_indices<uint64_t>({0, 1, ~uint64_t{0} - 1, ~uint64_t{0}}, uint64_t{1} << 60, 16);
}

TEST_CASE("index_histogram knows a dense vector") {
  Pair<double, uint64_t, DataType::float64> pair;
  const std::vector<double> values(1000, 1.0);
  std::vector<uint64_t> want(8);
  uint64_t* const got = pair.device.upload(want);
  pair.host.kernels().index_histogram(pair.host.put_dense(values), 130, want.data());
  pair.device.kernels().index_histogram(pair.device.put_dense(values), 130, got);
  CHECK(pair.device.download<uint64_t>(got, want.size()) == want);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
