// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/backend.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/error.hpp"

namespace sparsecoll::host {

namespace {

/// There are more chunks than threads, so that other threads take over chunks of a delayed one.
constexpr size_t kChunksPerThread = 4;

/// A chunk has whole rows, and few enough elements for indices of 32 bits.
constexpr size_t kLongestChunk = size_t{1} << 31;

const FilterFunctions& filters_of(Simd simd) {
  const FilterFunctions* const filters = find_filters(simd);
  if (!filters)
    fail(sparsecollInvalidArgument, "vector instructions of level ", static_cast<int>(simd),
         ", which this CPU does not have");
  return *filters;
}

/// Bytes of a vector that does not fit into the caches together with two others of its size.
size_t beyond_caches() {
  constexpr long kUsual = long{32} << 20;
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<size_t>(bytes > 0 ? bytes : kUsual) / 2;
}

}  // namespace

Backend::Backend(Arena& arena, Simd simd, size_t threads, const ThreadPlacement& placement)
    : arena_(arena),
      filters_(filters_of(simd)),
      loops_(find_sparse_loops(simd)),
      beyond_caches_(beyond_caches()),
      threads_(threads, placement) {}

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
