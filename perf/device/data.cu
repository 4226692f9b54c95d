// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "device/data.hpp"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::perf::device {
namespace {

enum class Kind { random, equal, sorted, hot, two_valued };

Kind kind_of(const std::string& name) {
  if (name == "equal") return Kind::equal;
  if (name == "sorted") return Kind::sorted;
  if (name == "hot") return Kind::hot;
  if (name == "two-valued") return Kind::two_valued;
  return Kind::random;
}

/// Returns a hash of (seed, i) with well mixed bits.
__device__ uint64_t noise(uint64_t seed, uint64_t i) {
  uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + i * 0xd1342543de82ef95ull;
  x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 29) * 0x94d049bb133111ebull;
  return x ^ x >> 32;
}

template <class T>
struct Fill {
  T* to;
  size_t n;
  Kind kind;
  uint64_t seed;

  __device__ Accumulation<T> magnitude(size_t i, uint64_t draw) const {
    using Acc = Accumulation<T>;
    switch (kind) {
      case Kind::equal:
        return Acc{1};
      case Kind::sorted:
        return static_cast<Acc>(i + 1) / static_cast<Acc>(n);
      case Kind::hot: {
        const bool inside = i >= n / 2 && i < n / 2 + n / 64;
        return static_cast<Acc>((draw >> 40) + 1) * (inside ? Acc{0x1p-8f} : Acc{0x1p-28f});
      }
      case Kind::two_valued:
        return (draw & 1023) == 0 ? Acc{2} : Acc{1};
      case Kind::random:
        break;
    }
    const Acc uniform = (static_cast<Acc>(draw >> 40) + Acc{1}) * Acc{0x1p-24f};
    return static_cast<Acc>(pow(uniform, Acc{-0.75f}));
  }
  __device__ void operator()(size_t i) const {
    const uint64_t draw = noise(seed, i);
    const Accumulation<T> value = magnitude(i, draw);
    to[i] = narrow<T>((draw >> 32 & 1) != 0 ? -value : value);
  }
};

template <class Acc>
struct FillInput {
  MergeInput<Acc> to;
  uint64_t seed;

  __device__ void operator()(size_t j) const {
    const uint64_t draw = noise(seed, j);
    to.index[j] = static_cast<uint32_t>(j * to.stride + draw % to.stride);
    to.value[j] = static_cast<Acc>(1 + (draw >> 60)) * ((draw >> 59 & 1) != 0 ? Acc{-1} : Acc{1});
  }
};

}  // namespace

template <class T>
void fill(cuda::Backend& backend, const std::string& kind, uint64_t seed, std::span<T> out) {
  cuda::for_each(backend, {nullptr, out.size()},
                 Fill<T>{out.data(), out.size(), kind_of(kind), seed});
}

template <class Acc>
void fill_input(cuda::Backend& backend, uint64_t seed, const MergeInput<Acc>& out) {
  cuda::for_each(backend, {nullptr, out.count}, FillInput<Acc>{out, seed});
}

template void fill(cuda::Backend&, const std::string&, uint64_t, std::span<float>);
template void fill(cuda::Backend&, const std::string&, uint64_t, std::span<double>);
template void fill(cuda::Backend&, const std::string&, uint64_t, std::span<Float16>);
template void fill(cuda::Backend&, const std::string&, uint64_t, std::span<Bfloat16>);
template void fill_input(cuda::Backend&, uint64_t, const MergeInput<float>&);
template void fill_input(cuda::Backend&, uint64_t, const MergeInput<double>&);

}  // namespace sparsecoll::perf::device
