// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "common/options.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// Exit status where there is no GPU, or no CUDA in this build.
inline constexpr int kNoDevice = 3;

// Defined in storage.cpp, or in without_cuda.cpp in a build without nvcc.

/// Is there a device for --memory device? Says so on stderr where there is none.
bool find_device(const std::string& program);
/// "13.0" of 13000, as CUDA counts. (In storage.cpp alone.)
std::string cuda_version(int number);
/// Memory and a stream of the device whose number is `rank` modulo the number of devices. It
/// becomes the calling thread's current one. Throws where there is none.
std::unique_ptr<Storage> make_device_storage(int rank);

/// topk_perf --memory device: measures one of the kernels for CUDA on the current device, prints
/// table and rows, and returns the program's exit status. Defined in device.cpp, or in
/// without_cuda.cpp.
int measure_on_device(const Options& options);

}  // namespace sparsecoll::perf
