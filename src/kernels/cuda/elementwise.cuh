// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise operations: several values in, one value out. Each is one launch that moves every
// value once, in 16-byte accesses if all vectors are aligned.

#include "kernels/cuda/view.cuh"
#include "kernels/kernels.hpp"

namespace sparsecoll::cuda {

/// Allocates n values whose bits are all zero.
template <class V>
V* zeroed(Backend& backend, size_t n) {
  V* const at = backend.arena().take<V>(n);
  check(cudaMemsetAsync(at, 0, n * sizeof(V), backend.stream()), "cudaMemsetAsync");
  return at;
}

template <class V>
void zero(Backend& backend, V* values, size_t count) {
  check(cudaMemsetAsync(values, 0, count * sizeof(V), backend.stream()), "cudaMemsetAsync");
}

/// Sets *count to `value`.
struct SetCount {
  uint64_t* count;
  uint64_t value;
  __device__ void operator()(size_t) const { *count = value; }
};

inline void set_count(Backend& backend, uint64_t* count, uint64_t value) {
  for_each(backend, {nullptr, 1}, SetCount{count, value});
}

/// Consecutive values of one vector that a thread moves with one instruction. Aligned to its size.
template <class V, size_t kValues>
struct alignas(kValues * sizeof(V)) Pack {
  V one[kValues];
};

/// Number of values in a pack: the widest of the types fills 16 bytes.
template <class... V>
inline constexpr size_t kPacked = 16 / std::max({sizeof(V)...});

/// Returns whether packs of kValues values are aligned in all these vectors. A null pointer counts
/// as aligned.
template <size_t kValues, class... V>
bool aligned(const V*... values) {
  return ((reinterpret_cast<uintptr_t>(values) % (kValues * sizeof(V)) == 0) && ...);
}

/// The position of a pack. With kNeighbours the values are consecutive, from `begin` on. Otherwise
/// the vectors are not aligned and the values lie `stride` apart, so that adjacent threads access
/// adjacent values.
template <size_t kValues, bool kNeighbours>
struct PackPosition {
  size_t begin;
  size_t stride;

  template <class V>
  __device__ Pack<V, kValues> load(const V* from) const {
    Pack<V, kValues> pack;
    if constexpr (kNeighbours)
      pack = *reinterpret_cast<const Pack<V, kValues>*>(from + begin);
    else
      for (size_t v = 0; v < kValues; ++v) pack.one[v] = from[begin + v * stride];
    return pack;
  }
  template <class V>
  __device__ void store(const Pack<V, kValues>& pack, V* to) const {
    if constexpr (kNeighbours)
      *reinterpret_cast<Pack<V, kValues>*>(to + begin) = pack;
    else
      for (size_t v = 0; v < kValues; ++v) to[begin + v * stride] = pack.one[v];
  }
};

/// Calls body(at) for positions that cover n values: packs of kValues, then single values for the
/// rest.
template <size_t kValues, bool kNeighbours, class Body>
__device__ void for_packs(size_t n, const Body& body) {
  const size_t first = size_t{blockIdx.x} * kThreads + threadIdx.x;
  const size_t threads = size_t{gridDim.x} * kThreads, stride = kNeighbours ? 1 : threads;
  size_t i = kNeighbours ? first * kValues : first;
  for (; i + (kValues - 1) * stride < n; i += threads * kValues)
    body(PackPosition<kValues, kNeighbours>{i, stride});
  if (kNeighbours) i = n / kValues * kValues + first;
  for (; i < n; i += threads) body(PackPosition<1, false>{i, 1});
}

template <class Out, class Function, size_t kValues, class... In>
__device__ Pack<Out, kValues> apply(const Function& function, const Pack<In, kValues>&... in) {
  Pack<Out, kValues> out;
  for (size_t v = 0; v < kValues; ++v) out.one[v] = function(in.one[v]...);
  return out;
}

template <bool kNeighbours, class Function, class Out, class... In>
__global__ void __launch_bounds__(kThreads)
    map_values(Length length, Function function, Out* out, const In*... in) {
  for_packs<kPacked<Out, In...>, kNeighbours>(
      length.get(), [&](const auto& at) { at.store(apply<Out>(function, at.load(in)...), out); });
}

/// Sets out[i] = function(in[i]...) for every i below the length. `out` may be one of `in`.
template <class Function, class Out, class... In>
void map(const Backend& backend, const Length& length, const Function& function, Out* out,
         const In*... in) {
  using Kernel = void (*)(Length, Function, Out*, const In*...);
  const Kernel neighbours = map_values<true, Function, Out, In...>;
  const Kernel strided = map_values<false, Function, Out, In...>;
  const bool packs = aligned<kPacked<Out, In...>>(static_cast<const Out*>(out), in...);
  launch(backend, blocks_of_items(backend, length.bound), packs ? neighbours : strided, length,
         function, out, in...);
}

template <class T>
struct Widen {
  __device__ Accumulation<T> operator()(T value) const { return sparsecoll::widen(value); }
};

template <class T>
void widen(Backend& backend, const SparseSpan& in, Accumulation<T>* to) {
  map(backend, {in.nnz.at, in.nnz.bound}, Widen<T>{}, to, static_cast<const T*>(in.value));
}

template <class T>
struct AddResidual {
  __device__ Accumulation<T> operator()(T value, Accumulation<T> previous) const {
    return sparsecoll::widen(value) + previous;
  }
};

/// Sets acc = gradient + residual.
template <class T>
void accumulate(Backend& backend, const Gradient& gradient, Accumulation<T>* acc) {
  const Length length{nullptr, gradient.count};
  const T* const values = static_cast<const T*>(gradient.values);
  const auto* const previous = static_cast<const Accumulation<T>*>(gradient.residual.read);
  if (previous)
    map(backend, length, AddResidual<T>{}, acc, values, previous);
  else
    map(backend, length, Widen<T>{}, acc, values);
}

template <class Acc>
struct KeepCancelled {
  __device__ Acc operator()(Acc acc, Acc sum) const { return sum == 0 || acc == 0 ? acc : Acc{0}; }
};

template <class Acc>
void keep_cancelled(Backend& backend, const Acc* acc, const SparseSpan& sum, Acc* residual) {
  map(backend, {sum.nnz.at, sum.nnz.bound}, KeepCancelled<Acc>{}, residual, acc,
      static_cast<const Acc*>(sum.value));
}

template <class Acc>
struct RoundToBf16 {
  __device__ Acc operator()(Acc value) const { return rounded_to_bf16(value); }
};
template <class Acc>
struct Bf16RoundingError {
  __device__ Acc operator()(Acc value) const { return lost_to_bf16(value); }
};

/// Rounds in two launches: there are few values to round.
template <class Acc, class I>
void round_to_bf16(Backend& backend, const View<Acc, I>& in, Acc* rounded, Acc* lost) {
  map(backend, in.nnz, RoundToBf16<Acc>{}, rounded, in.value);
  map(backend, in.nnz, Bf16RoundingError<Acc>{}, lost, in.value);
}

template <class Acc>
struct Canonical {
  __device__ Acc operator()(Acc value) const { return canonical(value); }
};

template <class Acc>
void copy_canonical(Backend& backend, const Acc* from, size_t count, Acc* to) {
  map(backend, {nullptr, count}, Canonical<Acc>{}, to, from);
}

template <class Acc>
struct Scale {
  Acc factor;
  __device__ Acc operator()(Acc value) const { return value * factor; }
};

/// Multiplies all values by `factor`. A factor of 0 also clears values that are not finite.
template <class Acc>
void scale(Backend& backend, Acc* values, size_t count, double factor) {
  if (factor == 0)
    zero(backend, values, count);
  else
    map(backend, {nullptr, count}, Scale<Acc>{static_cast<Acc>(factor)}, values,
        static_cast<const Acc*>(values));
}

}  // namespace sparsecoll::cuda
