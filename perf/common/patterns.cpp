// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/patterns.hpp"

#include <cstdint>

#include "common/half.hpp"
#include "common/vectors.hpp"

namespace sparsecoll::perf {

std::vector<std::string> pattern_names() {
  return {"random", "equal", "sorted", "hot", "two-valued"};
}

template <class T>
void fill_pattern(const std::string& name, int rank, const Options& options, std::span<T> out) {
  const std::size_t n = out.size();
  if (name == "random") {
    generated_vectors<T>(n, 1, options)->fill(rank, 0, out);
    return;
  }
  const std::uint64_t start = mix(options.seed + static_cast<std::uint64_t>(rank) + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = mix(start + i);
    using A = Wide<T>;
    A magnitude = A(1);
    if (name == "sorted") {
      magnitude = static_cast<A>(i + 1) / static_cast<A>(n);
    } else if (name == "hot") {
      const bool inside = i >= n / 2 && i < n / 2 + n / 64;
      magnitude = static_cast<A>((draw >> 40) + 1) * (inside ? A(0x1p20) : A(1));
    } else if (name == "two-valued") {
      magnitude = (draw & 1023) == 0 ? A(2) : A(1);
    }
    out[i] = T((draw >> 32 & 1) != 0 ? -magnitude : magnitude);
  }
}

template void fill_pattern(const std::string&, int, const Options&, std::span<float>);
template void fill_pattern(const std::string&, int, const Options&, std::span<double>);
template void fill_pattern(const std::string&, int, const Options&, std::span<Float16>);
template void fill_pattern(const std::string&, int, const Options&, std::span<Bfloat16>);

}  // namespace sparsecoll::perf
