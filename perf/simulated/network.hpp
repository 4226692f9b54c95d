// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "simulated/model.hpp"
#include "simulated/turns.hpp"
#include "transport/transport.hpp"

namespace sparsecoll::perf {

/// A transport for each rank of `turns`, which outlives them: real bytes of real messages, which
/// arrive when the model says.
std::vector<std::unique_ptr<Transport>> make_simulated_transports(Turns& turns, int ranks,
                                                                  const NetworkModel& model);

}  // namespace sparsecoll::perf
