// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/numeric.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

// Generated where it is needed: the host would take longer for it than for all that is measured.

/// One vector of the kinds of common/patterns.hpp. `random` is heavy-tailed, |x| = u^(-3/4) with
/// u uniform, and not rounded to integers: few values are equal, but for 16-bit types.
template <class T>
void fill(cuda::Backend& backend, const std::string& kind, uint64_t seed, std::span<T> out);

/// A sparse vector whose indices are spread evenly and at random: entry j lies somewhere in
/// [j * stride, (j + 1) * stride).
template <class Acc>
struct MergeInput {
  uint32_t* index;
  Acc* value;  ///< integers that every type holds
  size_t count;
  uint64_t stride;
};
template <class Acc>
void fill_input(cuda::Backend& backend, uint64_t seed, const MergeInput<Acc>& out);

}  // namespace sparsecoll::perf::device
