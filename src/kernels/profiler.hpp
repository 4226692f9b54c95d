// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/profiler.hpp"

namespace sparsecoll {

/// Returns NVTX, by which Nsight Systems learns of ranges (cuda/nvtx.cpp); null in a library that
/// was built without it (no_nvtx.cpp).
const Profiler* profiler();

}  // namespace sparsecoll
