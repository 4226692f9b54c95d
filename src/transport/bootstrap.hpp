// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/types.hpp"

namespace sparsecoll {

/// Exchanges bytes between the ranks of a communicator before they have a transport.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  /// Returns the bytes of all ranks, by rank. Collective; all ranks pass the same number of bytes.
  /// Throws SystemError, Timeout, RemoteError and InvalidUsage.
  virtual std::vector<std::byte> allgather(ConstBytes own) = 0;
};

}  // namespace sparsecoll
