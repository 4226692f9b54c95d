// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/transport_init.hpp"

#include "api/bridge.hpp"
#include "calls/framed/framed_link.hpp"

namespace sparsecoll {

std::string& init_error() {
  static thread_local std::string message;
  return message;
}

TransportInit::TransportInit(sparsecollComm_t* comm, const sparsecollConfig_t* config)
    : comm_(comm),
      checked_(check_config(config)),
      deadline_(Deadline::after(checked_.config.values.timeoutMs)) {
  if (!comm && !checked_.problem)
    checked_.problem = Error(sparsecollInvalidArgument, "comm: expected a pointer, got NULL");
}

void TransportInit::run(std::unique_ptr<Transport> transport) const {
  const auto made = std::make_shared<Communicator>(
      std::make_unique<FramedLink>(std::move(transport)), checked_.config);
  *comm_ = static_cast<sparsecollComm_t>(made->initialize(checked_.problem, deadline_));
}

void TransportInit::warn_of_one_rank() const {
  const Config& config = checked_.config;
  const std::optional<std::string> warning = warning_of_one_rank(config);
  if (!warning) return;
  const bool logs = config.log_level != LogLevel::none;
  const Log log(logs ? config.log_level : LogLevel::warn, logs ? config.log_file : "",
                "rank 0 of 1");
  log.write(LogLevel::warn, *warning);
}

}  // namespace sparsecoll
