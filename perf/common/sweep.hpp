// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/options.hpp"

namespace sparsecoll::perf {

/// The whole of a program that measures a reduction: parses the command line, starts the ranks,
/// measures every algorithm on every shape, prints the table. Returns the exit status, not 0 when
/// any rank has a wrong result.
int run_allreduce_program(int argc, char** argv, const Program& program);

}  // namespace sparsecoll::perf
