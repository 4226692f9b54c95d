// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::cuda {

/// Whether somebody in this process has a context on a device, so that memory may be a device's.
/// Neither loads the driver nor makes a context.
bool context_exists();
/// Whether there is one that the runtime would use for this device.
bool context_exists_on(int device);

}  // namespace sparsecoll::cuda
