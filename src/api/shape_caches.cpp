// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/shape_caches.hpp"

#include <algorithm>

namespace sparsecoll {

namespace {
constexpr size_t kMaxShapes = 256;
}

ShapeCache ShapeCaches::get(uint64_t shape) const {
  const ShapeCache* const found = find(shape);
  return found ? *found : ShapeCache{};
}

const ShapeCache* ShapeCaches::find(uint64_t shape) const {
  const auto found = entries_.find(shape);
  return found == entries_.end() ? nullptr : &found->second.cache;
}

void ShapeCaches::store(uint64_t shape, const ShapeCache& cache) {
  if (entries_.size() >= kMaxShapes && !entries_.contains(shape))
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.stored < b.second.stored; }));
  CacheEntry& entry = entries_[shape];
  entry.cache = cache;
  entry.stored = ++stores_;
}

void ShapeCaches::store(std::span<const CachedShape> all) {
  std::map<uint64_t, CacheEntry> before = entries_;
  try {
    for (const CachedShape& each : all) store(each.shape, each.cache);
  } catch (...) {
    entries_.swap(before);
    throw;
  }
}

}  // namespace sparsecoll
