// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests elementwise kernels against the host. Every output is followed by values that must not
// change.

#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kBehind = 5;

template <class T>
std::string check_accumulate(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  const std::vector<T> values = values_of<T>(kind, n, 3);
  const std::vector<Acc> previous = values_of<Acc>(test::Kind::kHeavyTail, n, 4);
  std::vector<Acc> want(n + kBehind, Acc{7}), plain = want;
  PairOf<T> pair;
  T* const in = pair.device.upload(values, offset * sizeof(T));
  Acc* const old = pair.device.upload(previous, offset * sizeof(Acc));
  Acc* const sum = pair.device.upload(want, offset * sizeof(Acc));
  Acc* const alone = pair.device.upload(want);
  pair.host.kernels().accumulate({values.data(), n, {previous.data(), nullptr}}, want.data());
  pair.device.kernels().accumulate({in, n, {old, nullptr}}, sum);
  pair.host.kernels().accumulate({values.data(), n, {}}, plain.data());
  pair.device.kernels().accumulate({in, n, {}}, alone);
  const auto got = pair.device.template download<Acc>(sum, n + kBehind);
  const auto got_alone = pair.device.template download<Acc>(alone, n + kBehind);
  return test::difference("sum", bits_but_nan(got), bits_but_nan(want)) +
         test::difference("without residual", bits_but_nan(got_alone), bits_but_nan(plain));
}

template <class T>
std::string check_widen(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  const std::vector<T> values = values_of<T>(kind, n, 5);
  std::vector<Acc> want(n + kBehind, Acc{7});
  PairOf<T> pair;
  Acc* const to = pair.device.upload(want);
  const SparseSpan host{nullptr, values.data(), pair.host.put_dense(std::vector<Acc>(n)).nnz};
  SparseSpan device = pair.device.put_dense(std::vector<Acc>(n));
  device.value = pair.device.upload(values, offset * sizeof(T));
  device.nnz.bound += kBehind - 1;  // the host may know only a bound
  pair.host.kernels().widen(host, want.data());
  pair.device.kernels().widen(device, to);
  const auto got = pair.device.template download<Acc>(to, n + kBehind);
  return test::difference("wide", bits_but_nan(got), bits_but_nan(want));
}

template <class T>
std::string check_residual(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  std::vector<Acc> want = values_of<Acc>(kind, n + kBehind, 6), copy(n + kBehind, Acc{7});
  PairOf<T> pair;
  Acc* const values = pair.device.upload(want, offset * sizeof(Acc));
  Acc* const to = pair.device.upload(copy, offset * sizeof(Acc));
  std::string differs;
  for (const double factor : {Integer<T> ? 3 : 0.3, 0.0}) {
    pair.host.kernels().scale(want.data(), n, factor);
    pair.device.kernels().scale(values, n, factor);
    pair.host.kernels().copy_canonical(want.data(), n, copy.data());
    pair.device.kernels().copy_canonical(values, n, to);
    const auto got = pair.device.template download<Acc>(values, n + kBehind);
    const auto got_copy = pair.device.template download<Acc>(to, n + kBehind);
    differs += test::difference("scaled", bits_but_nan(got), bits_but_nan(want));
    differs += test::difference("copy", bits_of(got_copy), bits_of(copy));
  }
  return differs;
}

/// Checks host and device against the definition of keep_cancelled().
template <class T>
std::string check_cancelled(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  const std::vector<T> acc = values_of<T>(kind, n, 7), sum = values_of<T>(kind, n, 8);
  std::vector<T> want(n + kBehind, T{7}), plain = want;
  PairOf<T> pair;
  const SparseSpan ours = pair.host.put_dense(sum);
  SparseSpan theirs = pair.device.put_dense(sum);
  theirs.value = pair.device.upload(sum, offset * sizeof(T));
  theirs.nnz.bound += kBehind - 1;
  T* const to = pair.device.upload(want);
  for (size_t i = 0; i < n; ++i) plain[i] = sum[i] != 0 && acc[i] != 0 ? T{0} : acc[i];
  pair.host.kernels().keep_cancelled(acc.data(), ours, want.data());
  pair.device.kernels().keep_cancelled(pair.device.upload(acc, offset * sizeof(T)), theirs, to);
  const auto got = pair.device.template download<T>(to, n + kBehind);
  return test::difference("host", bits_but_nan(want), bits_but_nan(plain)) +
         test::difference("device", bits_but_nan(got), bits_but_nan(want));
}

TEMPLATE_TEST_CASE("keep_cancelled keeps what is zero or adds up to it", "", float, double) {
  for (const Input& input : inputs())
    for (const size_t offset : {0, 1}) {
      INFO(input << ", offset = " << offset);
      CHECK(check_cancelled<TestType>(input, offset) == "");
    }
}

TEMPLATE_TEST_CASE("accumulate, widen, scale and copy_canonical give the host's bits", "", float,
                   double, Float16, Bfloat16, uint32_t, uint64_t) {
  for (const Input& input : inputs()) {
    for (const size_t offset : {0, 1}) {
      INFO(input << ", offset = " << offset);
      CHECK(check_accumulate<TestType>(input, offset) == "");
      CHECK(check_widen<TestType>(input, offset) == "");
      CHECK(check_residual<TestType>(input, offset) == "");
    }
  }
}

template <class T>
std::string check_rounding(const Input& input, size_t offset,
                           void (Kernels::*round)(const SparseSpan&, void*, void*)) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  const std::vector<Acc> values = values_of<Acc>(kind, n, 8);
  std::vector<Acc> rounded(n + kBehind, Acc{7}), lost = rounded;
  PairOf<T> pair;
  Acc* const to = pair.device.upload(rounded, offset * sizeof(Acc));
  Acc* const rest = pair.device.upload(lost);
  SparseSpan device = pair.device.put_dense(std::vector<Acc>(n));
  device.value = pair.device.upload(values, offset * sizeof(Acc));
  device.nnz.bound += kBehind - 1;
  for (Kernels* kernels : {&pair.host.kernels(), &pair.device.kernels()})
    kernels->set_scale_bits(9);
  (pair.host.kernels().*round)(pair.host.put_dense(values), rounded.data(), lost.data());
  (pair.device.kernels().*round)(device, to, rest);
  const auto got = pair.device.template download<Acc>(to, n + kBehind);
  const auto got_rest = pair.device.template download<Acc>(rest, n + kBehind);
  return test::difference("rounded", bits_of(got), bits_of(rounded)) +
         test::difference("lost", bits_of(got_rest), bits_of(lost));
}

TEMPLATE_TEST_CASE("values are rounded for the wire to the host's bits", "", float, double, Float16,
                   Bfloat16) {
  for (const Input& input : inputs()) {
    for (const size_t offset : {0, 1}) {
      INFO(input << ", offset = " << offset);
      CHECK(check_rounding<TestType>(input, offset, &Kernels::round_to_bf16) == "");
      CHECK(check_rounding<TestType>(input, offset, &Kernels::round_to_int8) == "");
    }
  }
}

TEST_CASE("accumulate adds in backend") {
  const std::vector<float> values = values_of<float>(test::Kind::kHeavyTail, 1000, 1);
  PairOf<float> pair;
  std::vector<float> want = values;
  float* const got = pair.device.upload(values);
  pair.host.kernels().accumulate({want.data(), 1000, {values.data(), nullptr}}, want.data());
  pair.device.kernels().accumulate({got, 1000, {pair.device.upload(values), nullptr}}, got);
  CHECK(test::difference("sum", pair.device.download<float>(got, 1000), want) == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
