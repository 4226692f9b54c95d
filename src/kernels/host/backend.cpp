// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/backend.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sparsecoll::host {

namespace {

/// There are more chunks than threads, so that other threads take over chunks of a delayed one.
constexpr size_t kChunksPerThread = 4;

/// A chunk has whole rows, and few enough elements for indices of 32 bits.
constexpr size_t kLongestChunk = size_t{1} << 31;

/// Vectors of fewer bytes fit into the caches of any machine.
constexpr size_t kFitsAnywhere = size_t{1} << 18;

const FilterFunctions& filters_of(Simd simd) {
  const FilterFunctions* const filters = find_filters(simd);
  if (!filters)
    fail(sparsecollInvalidArgument, "vector instructions of level ", static_cast<int>(simd),
         ", which this CPU does not have");
  return *filters;
}

}  // namespace

Backend::Backend(Arena& arena, Simd simd, size_t threads, const ThreadPlacement& placement)
    : arena_(arena),
      filters_(filters_of(simd)),
      loops_(find_sparse_loops(simd)),
      placement_(placement),
      threads_(threads, placement) {}

bool Backend::is_beyond_caches(size_t bytes) {
  constexpr size_t kVectors = 4;  // of a call: gradient, old and new residual, result
  if (tuning_.stream_bytes != 0) return bytes >= tuning_.stream_bytes;
  if (bytes < kFitsAnywhere) return false;
  if (!cache_bytes_) cache_bytes_ = placement_.cache_bytes();
  return bytes >= *cache_bytes_ / kVectors;
}

size_t Backend::chunks(size_t count) const {
  const size_t threads = threads_.threads();
  const size_t useful = count / std::max(tuning_.min_chunk, kRow);
  const size_t wanted = threads == 1 ? 1 : std::min(useful, kChunksPerThread * threads);
  return std::max({wanted, (count + kLongestChunk - 1) / kLongestChunk, size_t{1}});
}

void Backend::for_chunks(size_t count, FunctionRef<void(size_t, size_t)> body) {
  const size_t n = chunks(count);
  run(n, [&](size_t s) { body(cut(count, n, s), cut(count, n, s + 1)); });
}

}  // namespace sparsecoll::host
