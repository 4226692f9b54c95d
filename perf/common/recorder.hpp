// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

/// Measures the time that the flight recorder adds to a call, in `runs` runs of `calls` calls.
/// Prints it. Returns the exit status.
int measure_recorder(int calls, int runs);

}  // namespace sparsecoll::perf
