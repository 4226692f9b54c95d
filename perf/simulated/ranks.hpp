// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ranks.hpp"
#include "simulated/model.hpp"

namespace sparsecoll::perf {

/// Runs `body` on `size` ranks like launch(), in virtual time: Ranks::now() returns the rank's
/// virtual clock. A barrier takes no virtual time.
int launch_simulated(int size, const NetworkModel& model, const Body& body);

}  // namespace sparsecoll::perf
