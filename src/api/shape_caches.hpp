// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>

#include "calls/descriptor.hpp"
#include "collectives/interface/shape_cache.hpp"

namespace sparsecoll {

/// The cache of the shape whose descriptor has this hash.
struct CachedShape {
  uint64_t shape;
  ShapeCache cache;
};

/// The caches of the shapes with which a communicator was called. Keeps up to 256 shapes and
/// forgets the one that was stored longest ago. Only the thread that is inside the communicator, or
/// that of its queue, may use it.
class ShapeCaches {
 public:
  /// Returns a copy of the cache of the shape with this hash; an empty one if no call has stored
  /// one.
  ShapeCache get(uint64_t shape) const;
  /// Returns the cache of the shape with this hash; null if there is none.
  const ShapeCache* find(uint64_t shape) const;
  /// Stores the cache from which the next call of the shape with this hash starts.
  void store(uint64_t shape, const ShapeCache& cache);
  /// Stores all of these caches. Stores none when it throws std::bad_alloc.
  void store(std::span<const CachedShape> all);

 private:
  struct CacheEntry {
    ShapeCache cache;
    uint64_t stored = 0;  ///< value of stores_ when this entry was stored
  };
  std::map<uint64_t, CacheEntry> entries_;
  uint64_t stores_ = 0;
};

}  // namespace sparsecoll
