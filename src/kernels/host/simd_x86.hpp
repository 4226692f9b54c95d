// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host/sift.hpp"
#include "kernels/host/sweep.hpp"

namespace sparsecoll::host {

// Only for machines that have the level; ask find_sweeps().
extern const Sweeps kAvx2Sweeps;
extern const Sweeps kAvx512Sweeps;
extern const Sifts kAvx512Sifts;

}  // namespace sparsecoll::host
