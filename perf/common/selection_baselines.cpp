// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/selection_baselines.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include "common/half.hpp"
#include "common/thread_team.hpp"

namespace sparsecoll::perf {
namespace {

/// Returns the sum of the magnitudes. It adds in so many independent chains that the memory limits
/// the speed, not the latency of an addition.
template <class T>
Wide<T> read_pass(std::span<const T> x) {
  constexpr std::size_t kChains = 32;
  Wide<T> chain[kChains] = {};
  std::size_t i = 0;
  for (; i + kChains <= x.size(); i += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) chain[c] += std::abs(static_cast<Wide<T>>(x[i + c]));
  }
  for (; i < x.size(); ++i) chain[0] += std::abs(static_cast<Wide<T>>(x[i]));
  return std::accumulate(std::begin(chain), std::end(chain), Wide<T>(0));
}

template <class T>
void add_pass(const T* __restrict g, Wide<T>* __restrict r, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) r[i] += g[i];
}

/// Uses a result, so that the compiler does not remove its computation.
template <class T>
void use(T result) {
  volatile T sink = result;
  static_cast<void>(sink);
}

}  // namespace

template <class T>
void measure_passes(Ranks& ranks, const Options& options, std::span<const T> x,
                    SelectionBaselines& out) {
  const auto nothing = [] {};
  std::vector<T> other(x.size());
  std::vector<Wide<T>> residual(x.begin(), x.end());
  ThreadTeam team(static_cast<std::size_t>(options.selection_threads));
  const auto measure_shared = [&](const std::function<void(std::size_t, std::size_t)>& pass) {
    return measure(ranks, options, nothing, [&] { team.run(x.size(), pass); });
  };
  out.read = measure_shared(
      [&](std::size_t begin, std::size_t end) { use(read_pass(x.subspan(begin, end - begin))); });
  out.copy = measure_shared([&](std::size_t begin, std::size_t end) {
    if (begin < end) std::memcpy(&other[begin], &x[begin], (end - begin) * sizeof(T));
  });
  out.add = measure_shared([&](std::size_t begin, std::size_t end) {
    if (begin < end) add_pass(&x[begin], &residual[begin], end - begin);
  });
  use(std::accumulate(other.begin(), other.end(), Wide<T>(0)));
  use(std::accumulate(residual.begin(), residual.end(), Wide<T>(0)));
}

template <class T>
void measure_nth_element(Ranks& ranks, const Options& options, std::span<const T> x, std::size_t k,
                         SelectionBaselines& out) {
  std::vector<Wide<T>> scratch(x.size());
  Options few = options;
  few.iterations = std::max(options.iterations / 4, 1);
  few.warmup = std::min(options.warmup, 1);
  out.nth_element = measure(
      ranks, few, [] {},
      [&] {
        std::ranges::transform(x, scratch.begin(), [](Wide<T> v) { return std::abs(v); });
        if (k == 0) return;
        const auto kth = scratch.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(scratch.begin(), kth, scratch.end(), std::greater<Wide<T>>());
        use(*kth);
      });
}

template void measure_passes(Ranks&, const Options&, std::span<const float>, SelectionBaselines&);
template void measure_passes(Ranks&, const Options&, std::span<const double>, SelectionBaselines&);
template void measure_passes(Ranks&, const Options&, std::span<const Float16>, SelectionBaselines&);
template void measure_passes(Ranks&, const Options&, std::span<const Bfloat16>,
                             SelectionBaselines&);
template void measure_nth_element(Ranks&, const Options&, std::span<const float>, std::size_t,
                                  SelectionBaselines&);
template void measure_nth_element(Ranks&, const Options&, std::span<const double>, std::size_t,
                                  SelectionBaselines&);
template void measure_nth_element(Ranks&, const Options&, std::span<const Float16>, std::size_t,
                                  SelectionBaselines&);
template void measure_nth_element(Ranks&, const Options&, std::span<const Bfloat16>, std::size_t,
                                  SelectionBaselines&);

}  // namespace sparsecoll::perf
