// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum's arithmetic. Integers have no parts: for them nothing here is ever called.
//
// share, follow and move: one launch, which moves every value once.
//
// absorb:
//   1. the terms go to the device in the host's order: each share that was sent, then each vector
//      that arrived (a launch for every 240 of them);
//   2. one launch: a thread takes 16 bytes of values and applies all terms to them in that order,
//      then the net; rounds once; writes x and the estimate.
// Every vector is read once and x written once, however many terms there are.

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/merge/table.cuh"

namespace sparsecoll::cuda {

/// The part of a value that is sent, as it travels.
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

/// A copy that follows its original by what changed there.
template <class Acc>
struct Followed {
  Acc sign;
  __device__ Acc operator()(Acc copy, Acc change) const {
    return canonical(static_cast<Acc>(copy + sign * change));
  }
};

template <class Acc, class I>
struct Follow {
  View<Acc, I> change;
  Followed<Acc> followed;
  Acc* copy;
  __device__ void operator()(size_t j) const {
    Acc& value = copy[change.at(j)];
    value = followed(value, change.value[j]);
  }
};

template <class Acc, class I>
void push_sum_follow(Backend& backend, const View<Acc, I>& change, double sign, Acc* copy) {
  const Followed<Acc> followed{static_cast<Acc>(sign)};
  if (!change.index)
    return map(backend, change.nnz, followed, copy, static_cast<const Acc*>(copy), change.value);
  for_each(backend, change.nnz, Follow<Acc, I>{change, followed, copy});
}

template <class Acc>
struct Move {
  Acc share;
  __device__ Acc operator()(Acc net, Acc copy) const { return net + share * copy; }
};

template <class Acc>
void push_sum_move(Backend& backend, std::span<const Acc> copy, double share, Acc* net) {
  map(backend, {nullptr, copy.size()}, Move<Acc>{static_cast<Acc>(share)}, net,
      static_cast<const Acc*>(net), copy.data());
}

/// What a numerator gains or loses.
struct PushSumTerm {
  const void* arrived;  ///< a vector that is added, or null:
  double share;         ///< this part of what the numerator was is taken off
};

/// All of one step.
template <class T>
struct PushSumStep {
  using Acc = Accumulation<T>;

  const PushSumTerm* term;
  size_t terms;
  const Acc* net;  ///< or null
  Acc weight;
  const double* weight_at;  ///< or null: the same, not known to the host
  T* x;
  T* estimate;  ///< or null

  template <class Group>
  __device__ void absorb(const Group& group) const {
    const auto own = group.load(static_cast<const T*>(x));
    auto acc = apply<Acc>(Widen<T>{}, own);
    for (size_t t = 0; t < terms; ++t) {
      if (const T* const arrived = static_cast<const T*>(term[t].arrived))
        acc = apply<Acc>(Add{}, acc, group.load(arrived));
      else
        acc = apply<Acc>(Send{{static_cast<Acc>(term[t].share)}}, acc, own);
    }
    if (net) acc = apply<Acc>(AddNet{}, acc, group.load(net));
    const auto rounded = apply<T>(Round{}, acc);
    group.store(rounded, x);
    if (estimate) group.store(apply<T>(Estimate{last_weight()}, rounded), estimate);
  }

 private:
  __device__ Acc last_weight() const { return weight_at ? static_cast<Acc>(*weight_at) : weight; }

  struct Add {
    __device__ Acc operator()(Acc acc, T value) const { return acc + sparsecoll::widen(value); }
  };
  struct Send {
    PushSumPart<T> part;
    __device__ Acc operator()(Acc acc, T own) const { return acc - sparsecoll::widen(part(own)); }
  };
  struct AddNet {
    __device__ Acc operator()(Acc acc, Acc value) const { return acc + value; }
  };
  struct Round {
    __device__ T operator()(Acc acc) const { return finished<T>(acc, 1); }
  };
  struct Estimate {
    Acc weight;
    __device__ T operator()(T x) const {
      return finished<T>(static_cast<Acc>(sparsecoll::widen(x) / weight), 1);
    }
  };
};

template <bool kNeighbours, class T>
__global__ void __launch_bounds__(kThreads) absorb_terms(size_t n, PushSumStep<T> step) {
  for_groups<kPacked<Accumulation<T>>, kNeighbours>(n,
                                                    [&](const auto& group) { step.absorb(group); });
}

template <class T>
void push_sum_absorb(Backend& backend, const PushSumUpdate& terms, std::span<T> x, T* estimate) {
  using Acc = Accumulation<T>;
  constexpr size_t kValues = kPacked<Acc>;
  const Arena::Scope scope(backend.arena());
  const size_t sent = terms.shares.size(), all = sent + terms.arrived.size();
  const Acc* const net = static_cast<const Acc*>(terms.net);
  bool packs =
      aligned<kValues>(static_cast<const T*>(x.data()), static_cast<const T*>(estimate), net);
  for (const void* const arrived : terms.arrived)
    packs = packs && aligned<kValues>(static_cast<const T*>(arrived));
  const PushSumTerm* const term = table<PushSumTerm>(backend, all, [&](size_t t) {
    return t < sent ? PushSumTerm{nullptr, terms.shares[t]}
                    : PushSumTerm{terms.arrived[t - sent], 0};
  });
  launch(backend, blocks_of_items(backend, x.size()),
         packs ? absorb_terms<true, T> : absorb_terms<false, T>, x.size(),
         PushSumStep<T>{term, all, net, static_cast<Acc>(terms.weight), terms.weight_at, x.data(),
                        estimate});
}

}  // namespace sparsecoll::cuda
