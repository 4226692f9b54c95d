// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sparsecoll {

/// Returns a number of the machine on which this process runs, from the host's name and, if the
/// system reports it, the time of its start. So hosts with the same name differ. Containers count
/// as hosts of their own if their names differ.
uint64_t machine_number();

}  // namespace sparsecoll
