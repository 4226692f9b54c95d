// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum's weight when the host does not wait for it: one number and one thread. A launch for
// every 240 messages passes their addresses.

#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// The share of the weight that goes with one message.
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

inline void push_sum_split_weight(Backend& backend, double* weight, std::span<const double> shares,
                                  std::span<double* const> out) {
  const Arena::Scope scope(backend.arena());
  const WeightPart* const parts = upload_array<WeightPart>(backend, shares.size(), [&](size_t i) {
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

inline void push_sum_add_weights(Backend& backend, double* weight,
                                 std::span<const double* const> arrived) {
  const Arena::Scope scope(backend.arena());
  const double* const* const all =
      upload_array<const double*>(backend, arrived.size(), [&](size_t i) { return arrived[i]; });
  for_each(backend, {nullptr, 1}, TakeWeight{weight, all, arrived.size()});
}

}  // namespace sparsecoll::cuda
