// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests what happens to results on the device, against the host: error feedback, delivery, scatter,
// and the check of a caller's indices.

#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kBehind = 5;
constexpr auto kTail = test::Kind::kHeavyTail;

/// One sparse input on host and device.
struct Spans {
  SparseSpan host, device;

  /// Uploads an input whose length the host knows only as an upper bound.
  template <class Pair, class Acc>
  Spans(Pair& pair, const Entries<Acc>& entries)
      : host(pair.host.put(entries)), device(pair.device.put(entries)) {
    device.nnz.bound += kBehind;
  }
  template <class Pair, class Acc>
  Spans(Pair& pair, const std::vector<Acc>& values)
      : host(pair.host.put_dense(values)), device(pair.device.put_dense(values)) {
    device.nnz.bound += kBehind;
  }
};

template <class T, class I>
struct PutBackCase {
  using Acc = Accumulation<T>;
  PairOf<T, I> pair;
  size_t n;
  Spans nothing{pair, Entries<Acc>{}};

  std::string check(const Spans& sent, const Spans& delivered, const Spans& dropped) {
    std::string differs;
    for (const ResidualRule rule : {ResidualRule::conserving, ResidualRule::paper}) {
      std::vector<Acc> want = values_of<Acc>(test::Kind::kIntegers, n + kBehind, 1);
      Acc* const residual = pair.device.upload(want);
      pair.host.kernels().put_back({sent.host, delivered.host, dropped.host, rule}, want.data());
      pair.device.kernels().put_back({sent.device, delivered.device, dropped.device, rule},
                                     residual);
      const auto got = pair.device.template download<Acc>(residual, n + kBehind);
      differs += test::difference("residual", bits_but_nan(got), bits_but_nan(want));
    }
    return differs;
  }
};

template <class T, class I>
std::string check_put_back(const Input& input) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  PutBackCase<T, I> trial{{}, n};
  auto& pair = trial.pair;
  const Spans sent(pair, entries_of<Acc>(kind, n, 2));
  const Spans other(pair, entries_of<Acc>(kTail, n, 3));
  const Spans dropped(pair, entries_of<Acc>(kind, n, 4));
  const Spans all(pair, values_of<Acc>(kind, n, 5));
  const Spans most(pair, values_of<Acc>(kTail, n * 2 / 3, 6));
  return trial.check(sent, other, dropped) + trial.check(sent, other, trial.nothing) +
         trial.check(sent, trial.nothing, dropped) + trial.check(sent, sent, sent) +
         trial.check(all, most, dropped) + trial.check(sent, most, all) +
         trial.check(trial.nothing, other, other);
}

TEMPLATE_TEST_CASE("put_back adds what the host adds", "", float, double, Float16, Bfloat16) {
  for (const Input& input : inputs()) {
    INFO(input);
    CHECK(check_put_back<TestType, uint32_t>(input) == "");
    CHECK(check_put_back<TestType, uint64_t>(input) == "");
  }
}

TEST_CASE("put_back adds what was dropped to what came back") {
  // Index 3 was sent and dropped but not delivered: only the first matters. Index 5 was delivered
  // and dropped.
  const float tiny = 0x1p-24f;
  PutBackCase<float, uint32_t> trial{{}, 8};
  const Spans sent(trial.pair, Entries<float>{{3, 1.0f}, {5, 2.0f}});
  const Spans delivered(trial.pair, Entries<float>{{5, 2.0f}});
  const Spans dropped(trial.pair, Entries<float>{{3, tiny}, {5, tiny}});
  CHECK(trial.check(sent, delivered, dropped) == "");
}

template <class T, class I>
std::string check_deliver(const Input& input, int divisor) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  constexpr uint64_t kStride = sizeof(I) == 8 ? uint64_t{1} << 33 : 7;
  PairOf<T, I> pair;
  std::string differs;
  const Spans sparse(pair, entries_of<Acc>(kind, n, 2, kStride));
  const Spans dense(pair, values_of<Acc>(kind, n, 3));
  for (const Spans& in : {sparse, dense}) {
    const SparseBuffer host = pair.host.kernels().sparse(n);
    const SparseBuffer device = pair.device.kernels().sparse(n);
    pair.host.kernels().deliver(in.host, divisor, host);
    pair.device.kernels().deliver(in.device, divisor, device);
    differs += test::difference("delivered", bits_of(pair.device.template get<T>(device)),
                                bits_of(pair.host.template get<T>(host)));
  }
  return differs;
}

template <class T, class I>
std::string check_scatter(const Input& input, int divisor) {
  const auto [kind, n] = input;
  using Acc = Accumulation<T>;
  PairOf<T, I> pair;
  std::string differs;
  const Spans sparse(pair, entries_of<Acc>(kind, n, 2));
  const Spans dense(pair, values_of<Acc>(kind, n, 3));
  for (const Spans& in : {sparse, dense}) {
    for (const size_t offset : {0, 1}) {
      std::vector<T> want = values_of<T>(kTail, n + kBehind, 7);
      T* const out = pair.device.upload(want, offset * sizeof(T));
      pair.host.kernels().scatter(in.host, divisor, {0, n}, want.data());
      pair.device.kernels().scatter(in.device, divisor, {0, n}, out);
      const auto got = pair.device.template download<T>(out, n + kBehind);
      differs += test::difference("dense", bits_of(got), bits_of(want));
    }
  }
  return differs;
}

TEMPLATE_TEST_CASE("deliver and scatter give the host's bits", "", float, double, Float16, Bfloat16,
                   uint32_t, uint64_t) {
  for (const Input& input : inputs()) {
    INFO(input);
    CHECK(check_deliver<TestType, uint32_t>(input, 1) == "");
    CHECK(check_deliver<TestType, uint64_t>(input, 3) == "");
    CHECK(check_scatter<TestType, uint32_t>(input, 3) == "");
    CHECK(check_scatter<TestType, uint64_t>(input, 1) == "");
  }
}

TEST_CASE("scatter works in backend of a dense input") {
  std::vector<float> want = values_of<float>(test::Kind::kSignedZeros, 1000, 1);
  PairOf<float> pair;
  const Spans in(pair, want);
  pair.host.kernels().scatter(in.host, 3, {0, 1000}, want.data());
  pair.device.kernels().scatter(in.device, 3, {0, 1000}, const_cast<void*>(in.device.value));
  CHECK(test::difference("values", pair.device.download<float>(in.device.value, 1000), want) == "");
}

TEST_CASE("scatter into a region gives the host's bits") {
  PairOf<float> pair;
  const Spans in(pair, Entries<float>{{300, 1.0f}, {301, -2.0f}, {2300, 3.0f}});
  std::vector<float> want = values_of<float>(kTail, 2100, 7);
  float* const out = pair.device.upload(want);
  pair.host.kernels().scatter(in.host, 1, {299, 2301}, want.data());
  pair.device.kernels().scatter(in.device, 1, {299, 2301}, out);
  CHECK(test::difference("values", pair.device.download<float>(out, 2100), want) == "");
}

/// Returns where host and device find the first bad index.
template <class I>
void check_indices(const Entries<float>& entries, uint64_t count, uint64_t want) {
  INFO(entries.size() << " entries, count = " << count);
  PairOf<float, I> pair;
  const Spans in(pair, entries);
  uint64_t host = 77;
  uint64_t* const device = pair.device.kernels().counts(1);
  pair.host.kernels().check_indices(in.host, {0, count}, &host);
  pair.device.kernels().check_indices(in.device, {0, count}, device);
  CHECK(host == want);
  CHECK(pair.device.kernels().read(device) == want);
}

TEMPLATE_TEST_CASE("check_indices finds the first bad index", "", uint32_t, uint64_t) {
  check_indices<TestType>({}, 0, 0);
  for (const size_t n : {1, 2, 255, 256, 257, 1025, 3000, 30000}) {
    Entries<float> sound;
    for (size_t j = 0; j < n; ++j) sound.push_back({3 * j + 1, 0.0f});
    const uint64_t last = sound.back().index;
    check_indices<TestType>(sound, last + 1, n);
    check_indices<TestType>(sound, last, n - 1);
    check_indices<TestType>(sound, 0, 0);
    check_indices<TestType>(sound, last / 2, (last / 2 + 1) / 3);
    for (const size_t bad : {n / 2, n - 1, size_t{1}}) {
      if (bad == 0 || bad >= n) continue;
      Entries<float> equal = sound, falling = sound, beyond = sound;
      equal[bad].index = equal[bad - 1].index;
      falling[bad].index = 0;
      beyond[bad].index = sizeof(TestType) == 4 ? 0xffffffffu : ~uint64_t{0};
      check_indices<TestType>(equal, last + 1, bad);
      check_indices<TestType>(falling, last + 1, bad);
      check_indices<TestType>(beyond, last + 1, bad);
    }
  }
}

TEST_CASE("check_indices finds the first index outside a region") {
  PairOf<float> pair;
  const Spans in(pair, Entries<float>{{5, 1.0f}, {7, 1.0f}});
  uint64_t* const bad = pair.device.kernels().counts(3);
  pair.device.kernels().check_indices(in.device, {5, 8}, bad);
  pair.device.kernels().check_indices(in.device, {6, 8}, bad + 1);
  pair.device.kernels().check_indices(in.device, {5, 7}, bad + 2);
  CHECK(pair.device.kernels().read(bad) == 2);
  CHECK(pair.device.kernels().read(bad + 1) == 0);
  CHECK(pair.device.kernels().read(bad + 2) == 1);
}

TEST_CASE("check_indices of a dense vector finds its length too large") {
  PairOf<double, uint64_t> pair;
  const Spans in(pair, std::vector<double>(300));
  uint64_t* const bad = pair.device.kernels().counts(2);
  pair.device.kernels().check_indices(in.device, {0, 299}, bad);
  pair.device.kernels().check_indices(in.device, {0, 300}, bad + 1);
  CHECK(pair.device.kernels().read(bad) == 299);
  CHECK(pair.device.kernels().read(bad + 1) == 300);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
