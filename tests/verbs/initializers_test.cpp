// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the functions that initialize structs for languages without macros.

#include <sparsecoll/sparsecoll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "support/catch.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kMore = 32;  ///< bytes that a newer header might add

// Static, so that bytes between fields are 0.
constexpr sparsecollConfig_t kConfig = SPARSECOLL_CONFIG_INITIALIZER;
constexpr sparsecollStats_t kStats = SPARSECOLL_STATS_INITIALIZER;
constexpr sparsecollTopology_t kTopology = SPARSECOLL_TOPOLOGY_INITIALIZER;
constexpr sparsecollSparse_t kSparse = SPARSECOLL_SPARSE_INITIALIZER;
constexpr sparsecollPushSumConfig_t kPushSumConfig = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;

template <class T>
struct Initializer {
  const T& initial;
  sparsecollResult_t (*function)(T*, std::size_t);
  std::size_t least;  ///< the smallest valid size
};

/// Returns the bytes in which a struct is after the function, which were all 0xee before.
template <class T>
auto bytes_after(const Initializer<T>& initializer, std::size_t size, sparsecollResult_t want) {
  struct alignas(T) {
    std::array<unsigned char, sizeof(T) + kMore> bytes;
  } memory;
  memory.bytes.fill(0xee);
  CHECK(initializer.function(reinterpret_cast<T*>(memory.bytes.data()), size) == want);
  return memory.bytes;
}

template <class T>
void check(const Initializer<T>& initializer) {
  for (std::size_t size = 0; size <= sizeof(T) + kMore; ++size) {
    INFO("size " << size << " of " << sizeof(T));
    const bool good = size >= initializer.least;
    const auto got =
        bytes_after(initializer, size, good ? sparsecollSuccess : sparsecollInvalidArgument);
    std::array<unsigned char, sizeof(T) + kMore> want;
    want.fill(0xee);
    if (good) {
      std::fill_n(want.begin(), size, static_cast<unsigned char>(0));
      std::memcpy(want.data(), &initializer.initial, std::min(size, sizeof(T)));
      std::memcpy(want.data(), &size, sizeof size);
    }
    CHECK(got == want);
  }
  CHECK(initializer.function(nullptr, sizeof(T)) == sparsecollInvalidArgument);
}

TEST_CASE("initializers as functions set what the macros set, and no byte behind the size") {
  check<sparsecollConfig_t>(
      {kConfig, sparsecollConfigInit, offsetof(sparsecollConfig_t, blocking)});
  check<sparsecollStats_t>({kStats, sparsecollStatsInit, offsetof(sparsecollStats_t, algorithm)});
  check<sparsecollTopology_t>(
      {kTopology, sparsecollTopologyInit, offsetof(sparsecollTopology_t, levels)});
  check<sparsecollSparse_t>({kSparse, sparsecollSparseInit, sizeof(sparsecollSparse_t)});
  check<sparsecollPushSumConfig_t>(
      {kPushSumConfig, sparsecollPushSumConfigInit, offsetof(sparsecollPushSumConfig_t, graph)});
}

TEST_CASE("a configuration of an older header makes a communicator") {
  sparsecollConfig_t config;
  REQUIRE(sparsecollConfigInit(&config, offsetof(sparsecollConfig_t, allowSharded)) ==
          sparsecollSuccess);
  config.allowSharded = 77;  // not there in that header
  sparsecollComm_t comm = nullptr;
  CHECK(sparsecollCommInitAll(&comm, 1, nullptr, &config) == sparsecollSuccess);
  CHECK(sparsecollCommDestroy(comm) == sparsecollSuccess);
}

}  // namespace
}  // namespace sparsecoll::test
