// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/options.hpp"

namespace sparsecoll::perf {

/// Exit status where there is no GPU, or no CUDA in this build.
inline constexpr int kNoDevice = 3;

/// topk_perf --memory device: measures one of the kernels for CUDA on the current device, prints
/// table and rows, and returns the program's exit status. Defined in device.cpp, or in
/// without_cuda.cpp in a build without nvcc.
int measure_on_device(const Options& options);

}  // namespace sparsecoll::perf
