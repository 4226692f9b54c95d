// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/network/network.hpp"
#include "options.hpp"

namespace sparsecoll::tune {

/// The time of calls with vectors of this length.
struct Timed {
  std::size_t count;
  double seconds;
};

/// The time of the work that a rank does in each call without messages, all ranks at once: it
/// selects, keeps the residual, and writes the dense result.
struct LocalWork {
  double density;
  Timed timed;
};

/// What was measured. All ranks have the same numbers.
struct Measured {
  int ranks = 1;
  std::string transport;
  std::string placement;  ///< which ranks are on which hosts
  /// Absent if there is one rank, or messages cannot be timed.
  std::optional<Network> network;
  std::optional<NodeNetwork> nodes;  ///< only with --reordered
  /// Seconds for an entry that a rank packs, unpacks and adds, all ranks at once.
  double entry_seconds = kGammaOnHost;
  std::string dense_name;        ///< "MPI_Allreduce", or "the library's dense allreduce"
  std::vector<Timed> dense;      ///< by length; empty if there is one rank
  std::vector<LocalWork> local;  ///< by length and density
};

/// Measures. Collective.
Measured measure(const Options& options, perf::Ranks& ranks);

/// Returns the time of sparseAllreduce with a residual, by Auto. Collective.
double measure_call(const Options& options, perf::Ranks& ranks, std::size_t count, std::size_t k);

/// Returns the number of entries that this density means.
std::size_t entries_of(double density, std::size_t count);

}  // namespace sparsecoll::tune
