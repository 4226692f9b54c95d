// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ranks.hpp"
#include "simulated/model.hpp"

namespace sparsecoll::perf {

/// As launch(), with virtual time: a rank's clock is what Ranks::now() gives, and barriers take
/// none.
int launch_simulated(int size, const NetworkModel& model, const Body& body);

}  // namespace sparsecoll::perf
