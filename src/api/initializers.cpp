// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The initializers of the public structs as functions.
#include <sparsecoll/sparsecoll.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace {

// Static, so that bytes between fields are 0.
constexpr sparsecollConfig_t kConfig = SPARSECOLL_CONFIG_INITIALIZER;
constexpr sparsecollStats_t kStats = SPARSECOLL_STATS_INITIALIZER;
constexpr sparsecollTopology_t kTopology = SPARSECOLL_TOPOLOGY_INITIALIZER;
constexpr sparsecollSparse_t kSparse = SPARSECOLL_SPARSE_INITIALIZER;
constexpr sparsecollPushSumConfig_t kPushSumConfig = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;

/// Sets `size` bytes of a struct, which must have at least its first `least` bytes.
template <class T>
sparsecollResult_t initialize(T* out, size_t size, size_t least, const T& initial) {
  if (!out || size < least) return sparsecollInvalidArgument;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &initial, std::min(size, sizeof initial));
  out->size = size;
  return sparsecollSuccess;
}

}  // namespace

sparsecollResult_t sparsecollConfigInit(sparsecollConfig_t* config, size_t size) {
  return initialize(config, size, offsetof(sparsecollConfig_t, blocking), kConfig);
}

sparsecollResult_t sparsecollStatsInit(sparsecollStats_t* stats, size_t size) {
  return initialize(stats, size, offsetof(sparsecollStats_t, algorithm), kStats);
}

sparsecollResult_t sparsecollTopologyInit(sparsecollTopology_t* topology, size_t size) {
  return initialize(topology, size, offsetof(sparsecollTopology_t, levels), kTopology);
}

sparsecollResult_t sparsecollSparseInit(sparsecollSparse_t* sparse, size_t size) {
  return initialize(sparse, size, sizeof *sparse, kSparse);
}

sparsecollResult_t sparsecollPushSumConfigInit(sparsecollPushSumConfig_t* config, size_t size) {
  return initialize(config, size, offsetof(sparsecollPushSumConfig_t, graph), kPushSumConfig);
}
