// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace sparsecoll {

/// Returns a number that nobody can guess. Throws SystemError if the system has none.
std::array<uint64_t, 2> random_secret();

}  // namespace sparsecoll
