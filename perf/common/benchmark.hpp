// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/options.hpp"

namespace sparsecoll::perf {

/// Runs a program that measures a verb: parses the command line, launches the ranks, measures every
/// algorithm on every shape, and prints the table. Returns the exit status, which is not 0 if a
/// result is wrong on any rank.
int run_allreduce_program(int argc, char** argv, const Program& program);

}  // namespace sparsecoll::perf
