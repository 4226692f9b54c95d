// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/deadline.hpp"
#include "transport/bootstrap.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// The number of a rank that is to be connected, and its settings.
struct UcxRank {
  int rank;
  int ranks;  ///< number of ranks
  /// The time for which idle() polls before it sleeps. None: a short time if there is a CPU for
  /// each rank of this machine, else 0.
  std::optional<std::chrono::microseconds> spin = {};
};

/// Returns a transport over UCX between ranks that find each other through `bootstrap`. Collective.
/// Throws what the bootstrap throws; Timeout; RemoteError; InvalidUsage if the library was built
/// without UCX; SystemError if UCX cannot be loaded or fails.
std::unique_ptr<Transport> make_ucx_transport(const UcxRank& own, Bootstrap& bootstrap,
                                              const Deadline& deadline);

/// Loads UCX and returns its version. Throws InvalidUsage if the library was built without UCX;
/// SystemError if UCX cannot be loaded or is too old.
std::string ucx_version();

}  // namespace sparsecoll
