// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/config.hpp"
#include "core/deadline.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// Initialises one rank's communicator over a transport. MPI and UCX share these steps.
class TransportInit {
 public:
  /// Checks the arguments. Keeps an error for run(), which notifies the other ranks.
  TransportInit(sparsecollComm_t* comm, const sparsecollConfig_t* config);

  /// The configuration; bad parts of it have their defaults.
  const Config& config() const { return checked_.config; }
  const Deadline& deadline() const { return deadline_; }

  /// Makes the communicator of all ranks of the transport and writes its handle. Collective. Throws
  /// the error of any rank's arguments.
  void run(std::unique_ptr<Transport> transport) const;

  /// For an MPI with one rank: writes warning_of_one_rank(), if there is one. The library writes no
  /// other line without being asked. Without this one, models would differ silently.
  void warn_of_one_rank() const;

 private:
  sparsecollComm_t* comm_;
  CheckedConfig checked_;
  Deadline deadline_;
};

}  // namespace sparsecoll
