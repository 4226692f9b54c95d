// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests merge, concatenate and deliver_concatenated on the device against the host.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/naive.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::Kind;
using test::noise;

template <class Acc>
using Inputs = std::vector<Entries<Acc>>;
using Spans = std::vector<SparseSpan>;

/// Makes all NaNs the same, in types that have any.
template <class Acc>
Entries<Acc> plain(Entries<Acc> entries) {
  if constexpr (!Integer<Acc>) return unit::one_nan(std::move(entries));
  return entries;
}

/// Returns what `call` makes of the inputs on host and device. V is the type of its values, or of
/// their bits.
template <class T, class I, class V, class Call>
std::string check_call(const Inputs<Accumulation<T>>& inputs, const Call& call) {
  Pair<Accumulation<T>, I, data_type_of<T>()> pair;
  Spans ours, theirs;
  size_t most = 0;
  for (const auto& input : inputs) {
    ours.push_back(pair.host.put(input));
    theirs.push_back(pair.device.put(input));
    theirs.back().nnz.bound += most % 3 * 1000;  // the host may know only a loose bound
    most += input.size();
  }
  const SparseBuffer host = pair.host.kernels().sparse(most);
  const SparseBuffer device = pair.device.kernels().sparse(most);
  call(pair.host.kernels(), ours, host);
  for (const char* const run : {"", " in the second run"}) {
    call(pair.device.kernels(), theirs, device);
    const std::string differs =
        test::difference("entries", plain(pair.device.template get<V>(device)),
                         plain(pair.host.template get<V>(host)));
    if (!differs.empty()) return differs + run;
  }
  return "";
}

template <class T, class I>
std::string check_merge(const Inputs<Accumulation<T>>& inputs) {
  return check_call<T, I, Accumulation<T>>(
      inputs,
      [](Kernels& kernels, const Spans& in, const SparseBuffer& out) { kernels.merge(in, out); });
}

/// Compares the part of the sum that reaches the key of a middle entry.
template <class T, class I>
std::string check_merge_above(const Inputs<Accumulation<T>>& inputs) {
  uint64_t key = 1;
  for (const auto& input : inputs)
    if (!input.empty()) key = std::max<uint64_t>(key, key_of(input[input.size() / 2].value));
  return check_call<T, I, Accumulation<T>>(
      inputs, [key](Kernels& kernels, const Spans& in, const SparseBuffer& out) {
        kernels.merge_above(in, key, out);
      });
}

/// Returns numbers of every kind. Most are fractions of very different magnitude, whose sums depend
/// on the order.
template <class Acc>
Acc value_of(uint64_t p, uint64_t i) {
  const uint64_t bits = noise(5, p, i);
  if constexpr (Integer<Acc>) {
    return static_cast<Acc>(bits);
  } else {
    const auto fraction = static_cast<Acc>(static_cast<double>(bits >> 12) - 0x1p51);
    return std::ldexp(fraction, static_cast<int>(bits % 40) - 60);
  }
}

/// Returns about n entries of input p. Indices are `gap` apart on average and begin at `first`.
template <class Acc>
Entries<Acc> spread_entries(uint64_t p, size_t n, uint64_t gap, uint64_t first = 0) {
  Entries<Acc> entries;
  for (uint64_t j = 0, i = first; j < n; ++j, ++i) {
    if (gap > 1) i += noise(7, p, j) % (2 * gap - 1);
    entries.push_back({i, value_of<Acc>(p, i)});
  }
  return entries;
}

/// Checks inputs of about n entries whose sets of indices overlap in every way.
template <class T, class I>
void check_supports(size_t count, size_t n) {
  using Acc = Accumulation<T>;
  const uint64_t far = sizeof(I) == 8 ? uint64_t{1} << 40 : 1000;
  Inputs<Acc> overlapping, identical, disjoint, interleaved, skewed, uneven, thin, half_thin;
  for (size_t p = 0; p < count; ++p) {
    overlapping.push_back(spread_entries<Acc>(p, n, 1 + p % 4, far));
    identical.push_back(spread_entries<Acc>(p, n, 1, 5));
    disjoint.push_back(spread_entries<Acc>(p, n, 2, far + (count - p) * 2 * n));
    Entries<Acc> each;
    for (uint64_t j = 0; j < n; ++j) each.push_back({j * count + p, value_of<Acc>(p, j)});
    interleaved.push_back(each);
    skewed.push_back(p == count / 2 ? spread_entries<Acc>(p, n * count, 2, 17)
                                    : spread_entries<Acc>(p, p % 3, 2, n * count));
    uneven.push_back(p % 3 == 1 ? Entries<Acc>{}
                                : spread_entries<Acc>(p, noise(3, p) % (2 * n), 3));
    thin.push_back(spread_entries<Acc>(p, n, 40 * count, p));
    half_thin.push_back(spread_entries<Acc>(p, n / 2, 2));
    for (const auto& entry : spread_entries<Acc>(p, n / 2, 60 * count, 3 * n))
      half_thin.back().push_back(entry);
  }
  INFO(count << " inputs of " << n);
  CHECK(check_merge<T, I>(overlapping) == "");
  CHECK(check_merge_above<T, I>(overlapping) == "");
  CHECK(check_merge<T, I>(identical) == "");
  CHECK(check_merge<T, I>(disjoint) == "");
  CHECK(check_merge<T, I>(interleaved) == "");
  CHECK(check_merge<T, I>(skewed) == "");
  CHECK(check_merge_above<T, I>(skewed) == "");
  CHECK(check_merge<T, I>(uneven) == "");
  CHECK(check_merge<T, I>(thin) == "");
  CHECK(check_merge<T, I>(half_thin) == "");
}

TEST_CASE("merge gives the host's bits for any number of inputs") {
  for (size_t count = 1; count <= 9; ++count) {
    check_supports<float, uint32_t>(count, 900);
    if (!test::small_run()) check_supports<double, uint64_t>(count, 300);
  }
  check_supports<Float16, uint64_t>(3, 700);
  check_supports<Bfloat16, uint32_t>(2, 1500);
  check_supports<uint32_t, uint32_t>(5, 300);
  check_supports<uint64_t, uint64_t>(4, 300);
}

TEST_CASE("merge gives the host's bits for more inputs than go together") {
  for (const size_t count : {32, 33, 64}) check_supports<float, uint32_t>(count, 50);
  check_supports<double, uint64_t>(64, 10);
  check_supports<float, uint64_t>(130, 3);
}

TEST_CASE("merge gives the host's bits if lanes take many samples, one after the other") {
  DeviceBackend<float, uint32_t, DataType::float32> device;
  const size_t each = 750 * device.backend().multiprocessors();  // 16 samples for each lane
  check_supports<float, uint32_t>(32, test::small_run() ? 1500 : each);
  if (test::small_run()) return;
  check_supports<double, uint64_t>(17, 3000);
  check_supports<float, uint32_t>(5, 12000);
  CHECK(check_merge<float, uint32_t>({spread_entries<float>(0, 300000, 3),
                                      spread_entries<float>(1, 200000, 2, 100000)}) == "");
}

TEST_CASE("merge knows every kind of value") {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t n : {0, 1, 2, 600}) {
      Inputs<float> inputs;
      for (uint64_t p = 0; p < 5; ++p)
        inputs.push_back(p == 1 ? Entries<float>{} : unit::sparse_of<float>(kind, n, p));
      INFO(test::name_of(kind) << ", n = " << n);
      CHECK(check_merge<float, uint32_t>(inputs) == "");
    }
  }
}

TEST_CASE("merge has no trouble with tiles' borders, the ends of indices, or a lone -0") {
  for (const size_t n : {1023, 1024, 1025, 2047, 2048, 2049, 9000}) {
    INFO("n = " << n);
    CHECK(check_merge<float, uint32_t>(
              {spread_entries<float>(0, n, 1), spread_entries<float>(1, 1, 1, n)}) == "");
    CHECK(check_merge<float, uint32_t>(
              {spread_entries<float>(0, n, 1), spread_entries<float>(1, n, 1)}) == "");
  }
  CHECK(check_merge<float, uint32_t>({{{0, 1.0f}, {0xffffffff, 2.0f}},
                                      {{8191, -0.0f}, {8192, 3.0f}, {0xffffffff, -2.0f}}}) == "");
  CHECK(check_merge<double, uint64_t>({{{0, 1.0}, {~uint64_t{0} - 1, 2.0}},
                                       {{~uint64_t{0} - 1, 1.0}, {~uint64_t{0}, -0.0}}}) == "");
}

template <class T, class I>
std::string check_dense(Kind kind, size_t count, size_t n) {
  using Acc = Accumulation<T>;
  Pair<Acc, I, data_type_of<T>()> pair;
  Spans ours, theirs;
  for (uint64_t p = 0; p < count; ++p) {
    const auto values = unit::dense_of<Acc>(kind, n, p);
    ours.push_back(pair.host.put_dense(values));
    theirs.push_back(pair.device.put_dense(values));
  }
  std::vector<Acc> want(n);
  uint64_t nnz = 99;
  pair.host.kernels().merge(ours, {nullptr, want.data(), &nnz, n});
  Acc* const got = pair.device.upload(std::vector<Acc>(n), sizeof(Acc));
  uint64_t* const their_nnz = pair.device.kernels().counts(1);
  pair.device.kernels().merge(theirs, {nullptr, got, their_nnz, n});
  if (pair.device.kernels().read(their_nnz) != nnz) return "another count";
  return test::difference("sum", unit::one_nan(pair.device.template download<Acc>(got, n)),
                          unit::one_nan(want));
}

TEST_CASE("merge of dense inputs gives the host's bits") {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t count : {1, 2, 5}) {
      for (const size_t n : {0, 1, 255, 3000}) {
        INFO(test::name_of(kind) << ", " << count << " inputs of " << n);
        CHECK(check_dense<float, uint32_t>(kind, count, n) == "");
      }
    }
  }
  CHECK(check_dense<double, uint64_t>(Kind::kHeavyTail, 130, 40) == "");
  CHECK(check_dense<Bfloat16, uint32_t>(Kind::kHeavyTail, 64, 40) == "");
}

TEST_CASE("merge gives the host's bits where tiles are as thin as sums by rank allow") {
  for (const uint64_t gap : {28, 30, 31, 32, 33, 34, 36, 64}) {
    INFO("one entry in " << gap << " indices");
    Inputs<float> even(2);
    for (uint64_t j = 0; j < 6000; ++j)
      for (uint64_t p = 0; p < 2; ++p)
        even[p].push_back({(2 * j + (j % 3 == 0 ? 0 : p)) * gap + 7, value_of<float>(p, j)});
    CHECK(check_merge<float, uint32_t>(even) == "");
  }
}

TEST_CASE("merge takes dense inputs among sparse ones") {
  Pair<float, uint32_t, DataType::float32> pair;
  const auto dense = unit::dense_of<float>(Kind::kHeavyTail, 5000, 1);
  const auto sparse = spread_entries<float>(1, 700, 3, 2000);
  const SparseBuffer host = pair.host.kernels().sparse(5700);
  const SparseBuffer device = pair.device.kernels().sparse(5700);
  const SparseSpan ours[] = {pair.host.put(sparse), pair.host.put_dense(dense)};
  const SparseSpan theirs[] = {pair.device.put(sparse), pair.device.put_dense(dense)};
  pair.host.kernels().merge(ours, host);
  pair.device.kernels().merge(theirs, device);
  CHECK(test::difference("sum", pair.device.get(device), pair.host.get(host)) == "");
}

/// Concatenates inputs whose indices rise, or do not.
template <class T, class I>
void check_joined(const std::vector<size_t>& lengths) {
  using Acc = Accumulation<T>;
  Inputs<Acc> rising, any;
  uint64_t first = 0;
  for (size_t p = 0; p < lengths.size(); ++p) {
    rising.push_back(spread_entries<Acc>(p, lengths[p], 2, first));
    first += 4 * lengths[p];
    any.push_back({});
    for (const auto& entry : rising.back()) {
      Acc value = entry.value;
      if constexpr (Integer<Acc>)
        value /= 3;
      else  // deliver_concatenated() takes values that T holds
        value = entry.index % 7 == 0 ? std::bit_cast<Acc>(~Key<Acc>{entry.index % 5 == 0})
                                     : sparsecoll::widen(narrow<T>(value));
      any.back().push_back({entry.index % 97, value});
    }
  }
  INFO(lengths.size() << " inputs");
  CHECK(check_call<T, I, Key<Acc>>(rising,
                                   [](Kernels& kernels, const Spans& in, const SparseBuffer& out) {
                                     kernels.concatenate(in, out);
                                   }) == "");
  CHECK(
      check_call<T, I, Key<T>>(any, [](Kernels& kernels, const Spans& in, const SparseBuffer& out) {
        kernels.deliver_concatenated(in, out);
      }) == "");
}

TEST_CASE("concatenate and deliver_concatenated put inputs one behind the other") {
  for (const std::vector<size_t>& lengths :
       {std::vector<size_t>{}, {0}, {1}, {0, 0, 3, 0}, {1023, 0, 2, 1500, 1}, {5000}}) {
    check_joined<float, uint32_t>(lengths);
    check_joined<double, uint64_t>(lengths);
    check_joined<Float16, uint32_t>(lengths);
    check_joined<Bfloat16, uint64_t>(lengths);
    check_joined<uint32_t, uint32_t>(lengths);
    check_joined<uint64_t, uint64_t>(lengths);
  }
  check_joined<float, uint64_t>(std::vector<size_t>(300, 5));
}

}  // namespace
}  // namespace sparsecoll::cuda_test
