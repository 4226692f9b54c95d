// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests push-sum's arithmetic against the host: the same additions in the same order, rounded where
// the host rounds.

#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kBehind = 5;

template <class T>
std::string check_share(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  const std::vector<T> values = values_of<T>(kind, n, 1);
  std::vector<T> want = values_of<T>(test::Kind::kIntegers, n + kBehind, 2);
  PairOf<T> pair;
  T* const out = pair.device.upload(want, offset * sizeof(T));
  pair.host.kernels().push_sum_share(values.data(), n, 0.3, want.data());
  pair.device.kernels().push_sum_share(pair.device.upload(values), n, 0.3, out);
  const auto got = pair.device.template download<T>(out, n + kBehind);
  return test::difference("share", bits_but_nan(got), bits_but_nan(want));
}

template <class T, class I>
std::string check_follow(const Input& input) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  std::string differs;
  for (const bool dense : {false, true}) {
    PairOf<T, I> pair;
    const auto entries = entries_of<Acc>(kind, n, 3);
    const auto values = values_of<Acc>(kind, n, 3);
    const SparseSpan host = dense ? pair.host.put_dense(values) : pair.host.put(entries);
    const SparseSpan device = dense ? pair.device.put_dense(values) : pair.device.put(entries);
    std::vector<Acc> want = values_of<Acc>(test::Kind::kNotFinite, n + kBehind, 4);
    Acc* const copy = pair.device.upload(want);
    for (const double sign : {1.0, -1.0, -1.0}) {
      pair.host.kernels().push_sum_add_change(host, sign, want.data());
      pair.device.kernels().push_sum_add_change(device, sign, copy);
    }
    const auto got = pair.device.template download<Acc>(copy, n + kBehind);
    // Changed values are canonical and the others are untouched, so no bit may differ.
    differs += test::difference("copy", bits_of(got), bits_of(want));
  }
  return differs;
}

template <class T>
std::string check_move(const Input& input, size_t offset) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  const std::vector<Acc> copy = values_of<Acc>(kind, n, 5);
  std::vector<Acc> want = values_of<Acc>(test::Kind::kHeavyTail, n + kBehind, 6);
  PairOf<T> pair;
  Acc* const net = pair.device.upload(want, offset * sizeof(Acc));
  pair.host.kernels().push_sum_mix(copy.data(), n, 0.7, want.data());
  pair.device.kernels().push_sum_mix(pair.device.upload(copy), n, 0.7, net);
  const auto got = pair.device.template download<Acc>(net, n + kBehind);
  return test::difference("net", bits_but_nan(got), bits_but_nan(want));
}

TEMPLATE_TEST_CASE("push_sum_share, _follow and _move give the host's bits", "", float, double,
                   Float16, Bfloat16) {
  for (const Input& input : inputs()) {
    INFO(input);
    CHECK(check_follow<TestType, uint32_t>(input) == "");
    CHECK(check_follow<TestType, uint64_t>(input) == "");
    for (const size_t offset : {0, 1}) {
      CHECK(check_share<TestType>(input, offset) == "");
      CHECK(check_move<TestType>(input, offset) == "");
    }
  }
}

/// One step of a rank.
struct Step {
  size_t sent;
  size_t arrived;
  bool compressed;  ///< with a net change
  bool estimate;
  size_t misaligned = 0;  ///< number of received vectors that are misaligned
};

template <class T>
std::string check_absorb(const Input& input, const Step& step) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  PairOf<T> pair;
  std::vector<double> shares;
  for (size_t s = 0; s < step.sent; ++s)
    shares.push_back(0.9 / static_cast<double>(step.sent) + 1e-3 * static_cast<double>(s % 7));
  std::vector<std::vector<T>> arrived;
  std::vector<const void*> host, device;
  for (size_t a = 0; a < step.arrived; ++a) {
    arrived.push_back(values_of<T>(a % 5 == 1 ? kind : test::Kind::kHeavyTail, n, 20 + a));
    device.push_back(pair.device.upload(arrived[a], a < step.misaligned ? sizeof(T) : 0));
  }
  for (const std::vector<T>& each : arrived) host.push_back(each.data());
  const std::vector<Acc> net = values_of<Acc>(test::Kind::kHeavyTail, n, 8);
  std::vector<T> want = values_of<T>(kind, n + kBehind, 9);
  std::vector<T> estimate = values_of<T>(test::Kind::kIntegers, n + kBehind, 10);
  T* const x = pair.device.upload(want);
  T* const ratio = pair.device.upload(estimate);
  const Acc* const device_net = pair.device.upload(net);
  pair.host.kernels().push_sum_update({shares, host, step.compressed ? net.data() : nullptr, 0.37},
                                      n, want.data(), step.estimate ? estimate.data() : nullptr);
  pair.device.kernels().push_sum_update(
      {shares, device, step.compressed ? device_net : nullptr, 0.37}, n, x,
      step.estimate ? ratio : nullptr);
  const auto got = pair.device.template download<T>(x, n + kBehind);
  const auto got_ratio = pair.device.template download<T>(ratio, n + kBehind);
  return test::difference("x", bits_of(got), bits_of(want)) +
         test::difference("estimate", bits_of(got_ratio), bits_of(estimate));
}

TEMPLATE_TEST_CASE("push_sum_update adds as the host adds and rounds once", "", float, double,
                   Float16, Bfloat16) {
  for (const Input& input : inputs()) {
    INFO(input);
    CHECK(check_absorb<TestType>(input, {0, 0, false, true}) == "");
    CHECK(check_absorb<TestType>(input, {1, 1, false, true}) == "");
    CHECK(check_absorb<TestType>(input, {3, 5, false, false, 1}) == "");
    CHECK(check_absorb<TestType>(input, {2, 0, true, true}) == "");
    CHECK(check_absorb<TestType>(input, {0, 4, true, true, 3}) == "");
  }
}

TEMPLATE_TEST_CASE("push_sum_update takes any number of terms", "", float, double, Float16,
                   Bfloat16) {
  for (const size_t n : {size_t{1}, size_t{67}, size_t{300}}) {
    INFO("n = " << n);
    CHECK(check_absorb<TestType>({test::Kind::kHeavyTail, n}, {239, 1, true, true}) == "");
    CHECK(check_absorb<TestType>({test::Kind::kHeavyTail, n}, {1, 240, true, true}) == "");
    CHECK(check_absorb<TestType>({test::Kind::kHeavyTail, n}, {255, 255, true, true}) == "");
    CHECK(check_absorb<TestType>({test::Kind::kHuge, n}, {63, 64, false, true, 64}) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
