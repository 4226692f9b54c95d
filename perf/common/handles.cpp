// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/handles.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace sparsecoll::perf {

void require(sparsecollResult_t result, sparsecollComm_t comm, const char* what) {
  if (result == sparsecollSuccess) return;
  std::string message = std::string(what) + ": " + sparsecollGetErrorString(result);
  const char* detail = sparsecollGetLastError(comm);
  if (detail != nullptr && *detail != '\0') message += std::string(": ") + detail;
  throw std::runtime_error(message);
}

Communicator::~Communicator() {
  if (comm_ == nullptr) return;
  // After an exception the peers may not make this collective call, so do not wait for them.
  if (std::uncaught_exceptions() > 0) {
    sparsecollCommAbort(comm_);
  } else {
    sparsecollCommDestroy(comm_);
  }
}

sparsecollStats_t Communicator::last_stats() const {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  require(sparsecollCommGetStats(comm_, sparsecollStatsLast, &stats), comm_,
          "sparsecollCommGetStats");
  return stats;
}

Communicator connect_single_rank() {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.device = SPARSECOLL_DEVICE_HOST;
  sparsecollComm_t comm = nullptr;
  require(sparsecollCommInitAll(&comm, 1, nullptr, &config), nullptr, "sparsecollCommInitAll");
  return Communicator(comm);
}

Residual::Residual(std::size_t count, sparsecollDataType_t datatype, sparsecollComm_t comm)
    : comm_(comm) {
  require(sparsecollResidualCreate(&residual_, count, datatype, comm), comm,
          "sparsecollResidualCreate");
}

Residual& Residual::operator=(Residual&& other) noexcept {
  std::swap(residual_, other.residual_);
  std::swap(comm_, other.comm_);
  return *this;
}

Residual::~Residual() {
  if (residual_ != nullptr) sparsecollResidualDestroy(residual_);
}

void Residual::reset() {
  if (residual_ != nullptr) {
    require(sparsecollResidualScale(residual_, 0.0), comm_, "sparsecollResidualScale");
  }
}

void Residual::read(void* to) const {
  require(sparsecollResidualRead(residual_, to), comm_, "sparsecollResidualRead");
}

}  // namespace sparsecoll::perf
