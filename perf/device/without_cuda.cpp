// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "device/device.hpp"

namespace sparsecoll::perf {

int measure_on_device(const Options& options) {
  std::fprintf(
      stderr, "%s: --memory device: this build has no CUDA; it needs nvcc and SPARSECOLL_CUDA=ON\n",
      options.program.c_str());
  return kNoDevice;
}

}  // namespace sparsecoll::perf
