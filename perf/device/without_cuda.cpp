// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <stdexcept>

#include "device/device.hpp"

namespace sparsecoll::perf {

bool find_device(const std::string& program) {
  std::fprintf(
      stderr, "%s: --memory device: this build has no CUDA; it needs nvcc and SPARSECOLL_CUDA=ON\n",
      program.c_str());
  return false;
}

std::unique_ptr<Storage> make_device_storage(int) {
  throw std::logic_error("this build has no CUDA");
}

std::unique_ptr<Storage> make_copied_storage(int) {
  throw std::logic_error("this build has no CUDA");
}

int measure_on_device(const Options& options) {
  find_device(options.program);
  return kNoDevice;
}

}  // namespace sparsecoll::perf
