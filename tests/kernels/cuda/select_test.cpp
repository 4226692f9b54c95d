// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests selection on the device against the host: entries, residuals and counts are equal bit for
// bit.

#include "kernels/cuda/select_input.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

/// Calls accumulate_select on the host once and on the device twice.
template <class T, class I>
std::string check_select(const Input<T>& input, const Call& call) {
  using Acc = Accumulation<T>;
  const size_t n = input.values.size(), k = call.k;
  const bool feedback = call.feedback;
  Pair<Acc, I, data_type_of<T>()> pair;
  pair.device.backend().tuning() = call.tuning;
  std::vector<Acc> want(n, static_cast<Acc>(7));
  const SparseBuffer host = pair.host.kernels().sparse(std::min(k, n));
  const SparseBuffer device = pair.device.kernels().sparse(std::min(k, n));
  const T* values = pair.device.upload(input.values, call.offset * sizeof(T));
  Acc* next = pair.device.upload(want, call.offset * sizeof(Acc));
  const Acc* read = pair.device.upload(input.residual);
  ResidualView theirs, ours;
  if (feedback) {
    ours = {input.residual.data(), want.data()};
    theirs = {read, next};
  }
  pair.host.kernels().accumulate_select({input.values.data(), n, ours}, k, host);
  for (const char* const run : {"", " in the second run"}) {
    pair.device.kernels().accumulate_select({values, n, theirs}, k, device);
    std::string differs =
        test::difference("selected", pair.device.get(device), pair.host.get(host));
    if (differs.empty() && feedback)
      differs = test::difference("residual", plain(pair.device.template download<Acc>(next, n)),
                                 plain(want));
    if (!differs.empty()) return differs + run;
  }
  return "";
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

/// Filters all vectors: with an estimated bound, with too few candidate slots, and with bounds that
/// are much too low or too high. Every kind of data reaches some of these paths.
template <class T, class I>
void check_staged(const std::vector<size_t>& lengths) {
  const size_t any = ~size_t{0};
  const uint64_t too_high = kKeyEnd<Accumulation<T>> - 1;
  const cuda::DeviceTuning ways[] = {
      {0, 2048}, {0, 2048, 700}, {0, 2048, any, 1}, {0, 2048, any, too_high}};
  uint64_t number = 0;
  for (const test::Kind kind : unit::kDenseKinds) {
    for (const size_t n : lengths) {
      const Input<T> input = input_of<T>(kind, n, 13);
      for (const size_t k : {size_t{0}, size_t{1}, n / 100, n / 9}) {
        const uint64_t h = test::noise(++number, n);
        const Call call{k, h / 4 % 2 == 0, ways[h % 4], h / 8 % 2};
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k << ", room "
                                 << call.tuning.candidate_capacity << ", bound "
                                 << call.tuning.bound << (call.feedback ? ", feedback" : ""));
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

/// Calls top_k and above with a list of entries, with and without dropped entries.
template <class Acc, class I, DataType kType>
std::string check_lists(const Entries<Acc>& entries, size_t k, const Threshold& threshold) {
  Pair<Acc, I, kType> pair;
  const SparseSpan ours = pair.host.put(entries);
  SparseSpan theirs = pair.device.put(entries);
  theirs.nnz.bound += 3000;  // the host may know only a loose bound
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
  pair.host.kernels().select_above(ours, threshold, want);
  pair.device.kernels().select_above(theirs, threshold, got);
  return test::difference("above", pair.device.get(got), pair.host.get(want));
}

/// Tests integers up to the largest magnitude, sorted values, and few distinct values.
template <class T>
Input<T> special_of(size_t n, int which) {
  Input<T> input;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t h = test::noise(i, 3);
    if constexpr (Integer<T>) {
      const T smallest = T{1} << (8 * sizeof(T) - 1);
      input.values.push_back(h % 50 == 0 ? smallest : static_cast<T>(which == 0 ? i : h));
      input.residual.push_back(static_cast<T>(h % 7));
    } else {
      const float value = which == 0 ? static_cast<float>(i) : h % 3 == 0 ? -1.5f : 1.25f;
      input.values.push_back(narrow<T>(static_cast<Accumulation<T>>(value)));
      input.residual.push_back(0);
    }
  }
  return input;
}

template <class T, class I>
void check_special() {
  const size_t n = 4099;
  for (const int which : {0, 1}) {
    const Input<T> input = special_of<T>(n, which);
    for (const size_t from : {size_t{0}, n + 1}) {
      for (const size_t k : {n / 10, n / 100}) {
        INFO(name_of(data_type_of<T>())
             << ", input " << which << ", staged from " << from << ", k = " << k);
        const cuda::DeviceTuning tuning{from, 1024};
        CHECK(check_select<T, I>(input, {k, true, tuning, 0}) == "");
        CHECK(check_select<T, I>(input, {k, false, tuning, 1}) == "");
      }
    }
  }
}

TEST_CASE("integers, rising values and two values are selected as on the host") {
  check_special<uint32_t, uint32_t>();
  check_special<uint64_t, uint64_t>();
  check_special<float, uint64_t>();
  check_special<double, uint32_t>();
  check_special<Float16, uint32_t>();
  check_special<Bfloat16, uint32_t>();
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

}  // namespace
}  // namespace sparsecoll::cuda_test
