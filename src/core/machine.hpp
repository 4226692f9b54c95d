// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sparsecoll {

/// A number for the machine that this process runs on, by the host's name and, where the system
/// tells it, by when it was started: hosts of one name are told apart, and containers count as
/// hosts if their names differ.
uint64_t machine_number();

}  // namespace sparsecoll
