// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum's arithmetic on numerators. It is never called for integers, which cannot be divided.
//
// push_sum_share(), push_sum_add_change(), push_sum_mix(): one launch each, which reads every value
// once.
// push_sum_update():
//   1. The terms go to the device in the host's order: each share that was sent, then each vector
//      that arrived. This takes a launch for every 240 terms.
//   2. One launch. A thread loads 16 bytes of values and applies all terms in that order, then the
//      net. It rounds once and writes x and the estimate.
// Every vector is read once and x written once, however many terms there are.

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// Computes the share of a value that is sent, rounded as on the wire.
template <class T>
struct PushSumPart {
  Accumulation<T> share;
  __device__ T operator()(T value) const {
    return narrow<T>(static_cast<Accumulation<T>>(share * sparsecoll::widen(value)));
  }
};

template <class T>
void push_sum_share(Backend& backend, std::span<const T> values, double share, T* out) {
  map(backend, {nullptr, values.size()}, PushSumPart<T>{static_cast<Accumulation<T>>(share)}, out,
      values.data());
}

/// Applies a change of the original to a copy.
template <class Acc>
struct ChangedCopy {
  Acc sign;
  __device__ Acc operator()(Acc copy, Acc change) const {
    return canonical(static_cast<Acc>(copy + sign * change));
  }
};

template <class Acc, class I>
struct ApplyChange {
  View<Acc, I> change;
  ChangedCopy<Acc> changed;
  Acc* copy;
  __device__ void operator()(size_t j) const {
    Acc& value = copy[change.at(j)];
    value = changed(value, change.value[j]);
  }
};

template <class Acc, class I>
void push_sum_add_change(Backend& backend, const View<Acc, I>& change, double sign, Acc* copy) {
  const ChangedCopy<Acc> changed{static_cast<Acc>(sign)};
  if (!change.index)
    return map(backend, change.nnz, changed, copy, static_cast<const Acc*>(copy), change.value);
  for_each(backend, change.nnz, ApplyChange<Acc, I>{change, changed, copy});
}

template <class Acc>
struct AddShare {
  Acc share;
  __device__ Acc operator()(Acc net, Acc copy) const { return net + share * copy; }
};

template <class Acc>
void push_sum_mix(Backend& backend, std::span<const Acc> copy, double share, Acc* net) {
  map(backend, {nullptr, copy.size()}, AddShare<Acc>{static_cast<Acc>(share)}, net,
      static_cast<const Acc*>(net), copy.data());
}

/// One change of a numerator in a step.
struct PushSumTerm {
  const void* arrived;  ///< the vector to add, or null
  double share;         ///< if `arrived` is null: the share of x to subtract
};

/// All changes of one step.
template <class T>
struct PushSumStep {
  using Acc = Accumulation<T>;

  const PushSumTerm* term;
  size_t terms;
  const Acc* net;  ///< may be null
  Acc weight;
  const double* weight_at;  ///< the weight in device memory; null if the host knows it
  T* x;
  T* estimate;  ///< may be null

  template <class PackPosition>
  __device__ void absorb(const PackPosition& at) const {
    const auto own = at.load(static_cast<const T*>(x));
    auto acc = apply<Acc>(Widen<T>{}, own);
    for (size_t t = 0; t < terms; ++t) {
      if (const T* const arrived = static_cast<const T*>(term[t].arrived))
        acc = apply<Acc>(AddArrived{}, acc, at.load(arrived));
      else
        acc = apply<Acc>(SubtractShare{{static_cast<Acc>(term[t].share)}}, acc, own);
    }
    if (net) acc = apply<Acc>(AddNet{}, acc, at.load(net));
    const auto rounded = apply<T>(Round{}, acc);
    at.store(rounded, x);
    if (estimate) at.store(apply<T>(Estimate{last_weight()}, rounded), estimate);
  }

 private:
  __device__ Acc last_weight() const { return weight_at ? static_cast<Acc>(*weight_at) : weight; }

  struct AddArrived {
    __device__ Acc operator()(Acc acc, T value) const { return acc + sparsecoll::widen(value); }
  };
  struct SubtractShare {
    PushSumPart<T> part;
    __device__ Acc operator()(Acc acc, T own) const { return acc - sparsecoll::widen(part(own)); }
  };
  struct AddNet {
    __device__ Acc operator()(Acc acc, Acc value) const { return acc + value; }
  };
  struct Round {
    __device__ T operator()(Acc acc) const { return result_value<T>(acc, 1); }
  };
  struct Estimate {
    Acc weight;
    __device__ T operator()(T x) const {
      return result_value<T>(static_cast<Acc>(sparsecoll::widen(x) / weight), 1);
    }
  };
};

template <bool kNeighbours, class T>
__global__ void __launch_bounds__(kThreads) apply_terms(size_t n, PushSumStep<T> step) {
  for_packs<kPacked<Accumulation<T>>, kNeighbours>(n, [&](const auto& at) { step.absorb(at); });
}

template <class T>
void push_sum_update(Backend& backend, const PushSumUpdate& terms, std::span<T> x, T* estimate) {
  using Acc = Accumulation<T>;
  constexpr size_t kValues = kPacked<Acc>;
  const Arena::Scope scope(backend.arena());
  const size_t sent = terms.shares.size(), all = sent + terms.arrived.size();
  const Acc* const net = static_cast<const Acc*>(terms.net);
  bool packs =
      aligned<kValues>(static_cast<const T*>(x.data()), static_cast<const T*>(estimate), net);
  for (const void* const arrived : terms.arrived)
    packs = packs && aligned<kValues>(static_cast<const T*>(arrived));
  const PushSumTerm* const term = upload_array<PushSumTerm>(backend, all, [&](size_t t) {
    return t < sent ? PushSumTerm{nullptr, terms.shares[t]}
                    : PushSumTerm{terms.arrived[t - sent], 0};
  });
  launch(backend, blocks_of_items(backend, x.size()),
         packs ? apply_terms<true, T> : apply_terms<false, T>, x.size(),
         PushSumStep<T>{term, all, net, static_cast<Acc>(terms.weight), terms.weight_at, x.data(),
                        estimate});
}

}  // namespace sparsecoll::cuda
