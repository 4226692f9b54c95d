// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "common/options.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// The exit status if there is no GPU or this build has no CUDA.
inline constexpr int kNoDevice = 3;

// The following functions are defined in storage.cpp, or in without_cuda.cpp in a build without
// nvcc.

/// Returns true if there is a device for --memory device. Else prints the reason to stderr.
bool find_device(const std::string& program);
/// Formats a version of CUDA: 13000 is "13.0". Only storage.cpp defines it.
std::string cuda_version(int number);
/// Makes a storage on the device whose number is `rank` modulo the number of devices, and makes it
/// the calling thread's current device. Throws std::runtime_error if there is no device.
std::unique_ptr<Storage> make_device_storage(int rank);
/// Makes the storage of --memory copied: vectors on that device, with copies on the host. Throws
/// std::runtime_error if there is no device.
std::unique_ptr<Storage> make_copied_storage(int rank);

/// Runs topk_perf --memory device: measures a CUDA kernel on the current device and prints the
/// table. Returns the program's exit status. Defined in device.cpp, or in without_cuda.cpp.
int measure_on_device(const Options& options);

}  // namespace sparsecoll::perf
