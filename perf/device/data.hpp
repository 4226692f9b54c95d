// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/numeric.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

// Data are generated on the device, because the host would take longer for that than all
// measurements.

/// Fills a vector with data of a kind of common/patterns.hpp. `random` is heavy-tailed, |x| =
/// u^(-3/4) with u uniform. Unlike on the host, values are not rounded to integers, so that few are
/// equal, except in 16-bit types.
template <class T>
void fill(cuda::Backend& backend, const std::string& kind, uint64_t seed, std::span<T> out);

/// A sparse vector with random indices that are spread evenly: the index of entry j is in
/// [j * stride, (j + 1) * stride).
template <class Acc>
struct MergeInput {
  uint32_t* index;
  Acc* value;  ///< integers that are exact in every type
  size_t count;
  uint64_t stride;
};
/// Fills a sparse vector.
template <class Acc>
void fill_input(cuda::Backend& backend, uint64_t seed, const MergeInput<Acc>& out);

}  // namespace sparsecoll::perf::device
