// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

struct grid_group {
  void sync() const { simt::grid_barrier(); }
};
inline grid_group this_grid() { return {}; }

}  // namespace cooperative_groups
