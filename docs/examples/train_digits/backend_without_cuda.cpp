// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Replaces backend_cuda.cu in a build without nvcc.
#include <stdexcept>

#include "backend.h"

namespace train {

std::string why_no_device() { return "this build has no CUDA"; }
std::unique_ptr<Backend> make_device_backend(int) { throw std::runtime_error(why_no_device()); }

}  // namespace train
