// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Selection on the device against the host's: the same entries, residuals and counts, bit for bit.

#include "cuda/device_place.hpp"
#include "support/catch.hpp"
#include "unit/naive.hpp"

namespace sparsecoll::cuda_test {
namespace {

/// Values of T, and the residual that goes with them.
template <class T>
struct Input {
  std::vector<T> values;
  std::vector<Accumulation<T>> residual;
};

template <class T>
Input<T> input_of(test::Kind kind, size_t n, uint64_t seed) {
  using Acc = Accumulation<T>;
  Input<T> input;
  for (const Acc value : unit::dense_of<Acc>(kind, n, seed))
    input.values.push_back(narrow<T>(value));
  input.residual = unit::dense_of<Acc>(test::Kind::kHeavyTail, n, seed + 1);
  return input;
}

/// Both places, an input and where the residuals go.
struct Call {
  size_t k = 0;
  bool feedback = false;
  cuda::Tuning tuning = {};
};

/// accumulate_select of both, at addresses that are aligned to one value only.
template <class T, class I>
std::string check_select(const Input<T>& input, const Call& call) {
  using Acc = Accumulation<T>;
  const size_t n = input.values.size(), k = call.k;
  const bool feedback = call.feedback;
  Pair<Acc, I, data_type_of<T>()> pair;
  pair.device.place().tuning() = call.tuning;
  std::vector<Acc> want(n, Acc{-7});
  const SparseBuffer host = pair.host.kernels().sparse(std::min(k, n));
  const SparseBuffer device = pair.device.kernels().sparse(std::min(k, n));
  const T* values = pair.device.upload(input.values, sizeof(T));
  Acc* next = pair.device.upload(want, sizeof(Acc));
  const Acc* read = pair.device.upload(input.residual);
  ResidualView theirs, ours;
  if (feedback) {
    ours = {input.residual.data(), want.data()};
    theirs = {read, next};
  }
  pair.host.kernels().accumulate_select({input.values.data(), n, ours}, k, host);
  pair.device.kernels().accumulate_select({values, n, theirs}, k, device);
  const std::string differs =
      test::difference("selected", pair.device.get(device), pair.host.get(host));
  if (!differs.empty() || !feedback) return differs;
  return test::difference("residual", unit::one_nan(pair.device.template download<Acc>(next, n)),
                          unit::one_nan(want));
}

template <class T, class I>
void check_kinds(const std::vector<size_t>& lengths) {
  for (const test::Kind kind : unit::kDenseKinds) {
    for (const size_t n : lengths) {
      const Input<T> input = input_of<T>(kind, n, 11);
      bool feedback = false;
      for (const size_t k : {size_t{0}, size_t{1}, n / 100, n / 2, n, n + 1}) {
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k);
        feedback = !feedback;
        CHECK(check_select<T, I>(input, {k, feedback}) == "");
      }
    }
  }
}

TEST_CASE("accumulate_select selects what the host selects") {
  check_kinds<float, uint32_t>({0, 1, 31, 2048, 5000});
  check_kinds<double, uint64_t>({3, 1000});
  check_kinds<Float16, uint32_t>({64, 3000});
  check_kinds<Bfloat16, uint64_t>({65, 3000});
}

/// Long vectors are staged; here all are: with a guessed bound, without enough room, and with
/// bounds that are much too low or too high. Every kind of data meets some of these ways.
template <class T, class I>
void check_staged(const std::vector<size_t>& lengths) {
  const size_t any = ~size_t{0};
  const uint64_t too_high = kKeyEnd<Accumulation<T>> - 1;
  const cuda::Tuning ways[] = {
      {0, 2048}, {0, 2048, 700}, {0, 2048, any, 1}, {0, 2048, any, too_high}};
  uint64_t number = 0;
  for (const test::Kind kind : unit::kDenseKinds) {
    for (const size_t n : lengths) {
      const Input<T> input = input_of<T>(kind, n, 13);
      for (const size_t k : {size_t{0}, size_t{1}, n / 100, n / 9}) {
        const uint64_t h = test::noise(++number, n);
        const Call call{k, h / 4 % 2 == 0, ways[h % 4]};
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k << ", room " << call.tuning.room
                                 << ", bound " << call.tuning.bound
                                 << (call.feedback ? ", feedback" : ""));
        CHECK(check_select<T, I>(input, call) == "");
      }
    }
  }
}

TEST_CASE("staged selection selects what the host selects, whatever the bound and the room") {
  check_staged<float, uint32_t>({1, 511, 512, 20011});
  check_staged<double, uint64_t>({257, 4100});
  check_staged<Float16, uint64_t>({300, 5001});
  check_staged<Bfloat16, uint32_t>({513, 4002});
}

/// top_k and above of a list of entries, dropped ones wanted or not.
template <class Acc, class I, DataType kType>
std::string check_lists(const Entries<Acc>& entries, size_t k, const Threshold& threshold) {
  Pair<Acc, I, kType> pair;
  const SparseSpan ours = pair.host.put(entries), theirs = pair.device.put(entries);
  const size_t n = entries.size();
  for (const bool wanted : {true, false}) {
    const auto split = [&](Kernels& kernels, const SparseSpan& in) {
      const SparseBuffer kept = kernels.sparse(std::min(k, n)),
                         dropped = kernels.sparse(wanted ? n : 0);
      kernels.top_k(in, k, kept, dropped);
      return std::pair(kept, dropped);
    };
    const auto want = split(pair.host.kernels(), ours);
    const auto got = split(pair.device.kernels(), theirs);
    std::string differs =
        test::difference("kept", pair.device.get(got.first), pair.host.get(want.first));
    if (differs.empty() && wanted)
      differs =
          test::difference("dropped", pair.device.get(got.second), pair.host.get(want.second));
    if (!differs.empty()) return differs;
  }
  const SparseBuffer want = pair.host.kernels().sparse(n), got = pair.device.kernels().sparse(n);
  pair.host.kernels().above(ours, threshold, want);
  pair.device.kernels().above(theirs, threshold, got);
  return test::difference("above", pair.device.get(got), pair.host.get(want));
}

TEST_CASE("top_k and above take the host's entries of a list") {
  for (const test::Kind kind : unit::kDenseKinds) {
    for (const size_t n : {0, 1, 70, 5000}) {
      const auto floats = unit::sparse_of<float>(kind, n, 5, 3);
      const auto doubles = unit::sparse_of<double>(kind, n, 6, 5, uint64_t{1} << 40);
      const size_t k = floats.size() / 3;
      const uint64_t key = floats.empty() ? 1 : key_of(floats[floats.size() / 2].value);
      INFO(test::name_of(kind) << ", n = " << n);
      CHECK(check_lists<float, uint32_t, DataType::float32>(floats, k, {key, 3}) == "");
      CHECK(check_lists<float, uint64_t, DataType::bfloat16>(floats, 1, {key, 0}) == "");
      CHECK(check_lists<double, uint64_t, DataType::float64>(doubles, n, {}) == "");
    }
  }
}

/// accumulate_above of both; its count is true where its entries do not fit.
template <class T, class I>
std::string check_above(const Input<T>& input, uint64_t key, size_t capacity, const Call& call) {
  using Acc = Accumulation<T>;
  const size_t n = input.values.size();
  Pair<Acc, I, data_type_of<T>()> pair;
  pair.device.place().tuning() = call.tuning;
  std::vector<Acc> want(n);
  const SparseBuffer host = pair.host.kernels().sparse(capacity);
  const SparseBuffer device = pair.device.kernels().sparse(capacity);
  Acc* const next = pair.device.upload(want);
  const Acc* const read = pair.device.upload(input.residual);
  ResidualView ours, theirs;
  if (call.feedback) {
    ours = {input.residual.data(), want.data()};
    theirs = {read, next};
  }
  const T* const values = pair.device.upload(input.values);
  pair.host.kernels().accumulate_above({input.values.data(), n, ours}, key, host);
  pair.device.kernels().accumulate_above({values, n, theirs}, key, device);
  const uint64_t count = pair.device.kernels().read(device.nnz);
  if (count != *host.nnz) return "count " + std::to_string(count);
  if (count > capacity) return "";
  const std::string differs =
      test::difference("selected", pair.device.get(device), pair.host.get(host));
  if (!differs.empty() || !call.feedback) return differs;
  return test::difference("residual", unit::one_nan(pair.device.template download<Acc>(next, n)),
                          unit::one_nan(want));
}

template <class T, class I>
void check_kinds_above(size_t n) {
  for (const test::Kind kind : unit::kDenseKinds) {
    const Input<T> input = input_of<T>(kind, n, 17);
    const uint64_t key = std::max<uint64_t>(key_of(input.residual[n / 2]), 1);
    for (const size_t capacity : {n, n / 10, n / 100}) {
      for (const cuda::Tuning& tuning :
           {cuda::Tuning{}, cuda::Tuning{0}, cuda::Tuning{0, 0, 600}}) {
        INFO(test::name_of(kind) << ", n = " << n << ", capacity " << capacity);
        CHECK(check_above<T, I>(input, key, capacity, {0, true, tuning}) == "");
        CHECK(check_above<T, I>(input, 3 * (key / 2), capacity, {0, false, tuning}) == "");
      }
    }
  }
}

TEST_CASE("accumulate_above takes what the host takes, staged or not") {
  check_kinds_above<float, uint64_t>(3000);
  check_kinds_above<double, uint32_t>(1001);
  check_kinds_above<Float16, uint32_t>(1002);
  check_kinds_above<Bfloat16, uint64_t>(1500);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
