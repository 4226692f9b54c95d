// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum's weight where no host waits for it: one number, one thread, and a launch for every 240
// messages to name them.

#include "kernels/cuda/merge/table.cuh"

namespace sparsecoll::cuda {

/// The part of a weight that goes with a message.
struct WeightPart {
  double share;
  double* out;
};

struct GiveWeight {
  double* weight;
  const WeightPart* parts;
  size_t n;
  __device__ void operator()(size_t) const {
    const double before = *weight;
    double left = before;
    for (size_t i = 0; i < n; ++i) {
      const double part = parts[i].share * before;
      *parts[i].out = part;
      left -= part;
    }
    *weight = left;
  }
};

inline void push_sum_give(Backend& backend, double* weight, std::span<const double> shares,
                          std::span<double* const> out) {
  const Arena::Scope scope(backend.arena());
  const WeightPart* const parts = table<WeightPart>(backend, shares.size(), [&](size_t i) {
    return WeightPart{shares[i], out[i]};
  });
  for_each(backend, {nullptr, 1}, GiveWeight{weight, parts, shares.size()});
}

struct TakeWeight {
  double* weight;
  const double* const* arrived;
  size_t n;
  __device__ void operator()(size_t) const {
    double sum = *weight;
    for (size_t i = 0; i < n; ++i) sum += *arrived[i];
    *weight = sum;
  }
};

inline void push_sum_take(Backend& backend, double* weight,
                          std::span<const double* const> arrived) {
  const Arena::Scope scope(backend.arena());
  const double* const* const all =
      table<const double*>(backend, arrived.size(), [&](size_t i) { return arrived[i]; });
  for_each(backend, {nullptr, 1}, TakeWeight{weight, all, arrived.size()});
}

}  // namespace sparsecoll::cuda
