// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

namespace sparsecoll::cuda {
bool context_exists() { return simt::context_exists(); }
}  // namespace sparsecoll::cuda
