// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "simulated/model.hpp"
#include "simulated/virtual_time.hpp"
#include "transport/transport.hpp"

namespace sparsecoll::perf {

/// Returns a transport for each rank of `time`, which must outlive them. Messages carry real bytes;
/// they arrive at the virtual times that the model gives.
std::vector<std::unique_ptr<Transport>> make_simulated_transports(VirtualTime& time, int ranks,
                                                                  const NetworkModel& model);

}  // namespace sparsecoll::perf
