// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

/// Measures what the flight recorder adds to a call, in as many runs of `calls` calls as `runs`
/// says. Prints it. Returns the exit status.
int measure_recorder(int calls, int runs);

}  // namespace sparsecoll::perf
