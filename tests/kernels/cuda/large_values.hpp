// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Device vectors too long to compare in one piece. Their values repeat, so the host compares them
// part by part.

#include "kernels/cuda/values.hpp"

namespace sparsecoll::cuda_test {

using LargePair = PairOf<Bfloat16, uint64_t>;
using LargePlace = decltype(LargePair::device);

inline constexpr size_t kWide = (size_t{1} << 32) + 17;

/// The period of the values. It is odd, so values that are 2^31 or 2^32 apart differ.
inline constexpr size_t kPeriod = (size_t{1} << 24) + 43;

inline std::vector<float> period_of(uint64_t seed) {
  return values_of<float>(test::Kind::kHeavyTail, kPeriod, seed);
}
/// Returns one period that begins with the value at `first`.
template <class V>
std::vector<V> rotated(std::vector<V> period, size_t by) {
  std::rotate(period.begin(), period.begin() + static_cast<ptrdiff_t>(by), period.end());
  return period;
}

template <class V>
void copy(LargePlace& device, V* to, const V* from, size_t n, cudaMemcpyKind kind) {
  const cudaStream_t stream = device.backend().stream();
  cuda::check(cudaMemcpyAsync(to, from, n * sizeof(V), kind, stream), "cudaMemcpyAsync");
  cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// Creates n values on the device.
template <class V>
V* repeat(LargePlace& device, const std::vector<V>& period, size_t n) {
  V* const to = device.backend().arena().template take<V>(n);
  size_t done = std::min(n, period.size());
  copy(device, to, period.data(), done, cudaMemcpyHostToDevice);
  for (size_t part = 0; done < n; done += part) {
    part = std::min(done, n - done);
    copy(device, to + done, static_cast<const V*>(to), part, cudaMemcpyDeviceToDevice);
  }
  return to;
}

/// Describes how n device values differ from the repeating ones, except at `others`.
template <class V>
std::string difference(LargePlace& device, const V* got, size_t n, const std::vector<V>& period,
                       const Entries<V>& others = {}) {
  std::vector<V> own(period.size()), want = period;
  auto next = others.begin();
  for (size_t begin = 0; begin < n; begin += kPeriod) {
    const size_t part = std::min(n - begin, kPeriod);
    own.resize(part);
    want.assign(period.begin(), period.begin() + static_cast<ptrdiff_t>(part));
    copy(device, own.data(), got + begin, part, cudaMemcpyDeviceToHost);
    for (; next != others.end() && next->index < begin + part; ++next)
      want[next->index - begin] = next->value;
    if (std::memcmp(own.data(), want.data(), part * sizeof(V)) != 0)
      return "from " + std::to_string(begin) +
             " on: " + test::difference("values", bits_of(own), bits_of(want));
  }
  return "";
}

}  // namespace sparsecoll::cuda_test
