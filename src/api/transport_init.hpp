// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/config.hpp"
#include "core/deadline.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// The steps of an init over a transport that are the same over MPI and UCX, for one rank.
class TransportInit {
 public:
  /// Checks the arguments. Bad ones must not keep the other ranks waiting: run() notifies them.
  TransportInit(sparsecollComm_t* comm, const sparsecollConfig_t* config);

  /// The configuration; bad parts of it have their defaults.
  const Config& config() const { return checked_.config; }
  const Deadline& deadline() const { return deadline_; }

  /// Makes the communicator of all ranks of the transport and writes its handle. Collective. Throws
  /// what is wrong with the arguments of any rank.
  void run(std::unique_ptr<Transport> transport) const;

  /// For an MPI with one rank: writes warning_of_one_rank(), if there is one. It is the only line
  /// that the library writes unasked: without it, models differ silently.
  void warn_of_one_rank() const;

 private:
  sparsecollComm_t* comm_;
  CheckedConfig checked_;
  Deadline deadline_;
};

}  // namespace sparsecoll
