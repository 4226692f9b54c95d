// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace sparsecoll::cuda {

/// Whether somebody in this process has a context on a device, so that memory may be a device's.
/// Neither loads the driver nor makes a context.
bool context_exists();
/// Whether there is one that the runtime would use for this device.
bool context_exists_on(int device);

/// Loads all kernels of the files that these kernels are from, onto the current device: the first
/// launch of one that is not loaded may wait for whatever runs there, and that for this process.
/// Where the driver has no way to, they are loaded when they are launched.
void load_kernels(std::span<const void* const> kernels);

}  // namespace sparsecoll::cuda
