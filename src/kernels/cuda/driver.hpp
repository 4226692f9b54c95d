// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace sparsecoll::cuda {

/// Returns whether this process has a context on some device. Without one, no memory belongs to a
/// device. Neither loads the driver nor creates a context.
bool context_exists();
/// Returns whether the device has the context that the runtime would use.
bool context_exists_on(int device);

/// Loads all kernels of the source files that `kernels` come from onto the current device. The
/// first launch of a kernel that is not loaded may wait for all work on the device, and that work
/// may wait for this process. A driver without a function for it loads each kernel at its first
/// launch.
void load_kernels(std::span<const void* const> kernels);

}  // namespace sparsecoll::cuda
