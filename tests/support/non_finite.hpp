// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tests of sparsecollNonFiniteSkip share these functions.

#include <cstdint>
#include <limits>
#include <vector>

#include "support/config.hpp"
#include "support/data.hpp"

namespace sparsecoll::test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns all modes that have an oracle, with sparsecollNonFiniteSkip.
inline std::vector<Mode> skipping_modes() {
  std::vector<Mode> modes = kSparseModes;
  modes.insert(modes.end(), {kGtopk, kGtopkPaper});
  modes.insert(modes.end(), kRoundingModes.begin(), kRoundingModes.end());
  for (Mode& mode : modes) mode = skipping(mode);
  return modes;
}

/// Returns `skipped` of the statistics.
inline std::size_t skipped(sparsecollComm_t comm, int which) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  return sparsecollCommGetStats(comm, which, &stats) == sparsecollSuccess ? stats.skipped
                                                                          : SIZE_MAX;
}

/// The kind of test data of a call.
struct Data {
  Kind kind;
  bool one_nan = false;  ///< the last rank's first value is a NaN
};

template <class T>
std::vector<std::vector<T>> make(const Data& data, std::size_t n, int P, std::uint64_t seed) {
  auto all = make_data_of_all<T>(data.kind, n, P, seed);
  if (data.one_nan && n > 0) all.back()[0] = T(kNan);
  return all;
}

}  // namespace sparsecoll::test
