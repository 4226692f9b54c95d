// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace sparsecoll::perf {

/// Returns the baselines of the program that this build has.
std::vector<std::string> baselines_of(const Program& program);

/// Sets the defaults that depend on several options, and checks that the options fit together.
/// Throws CLI::ValidationError if they do not.
void complete_options(CLI::App& app, Options& options, const Program& program);

}  // namespace sparsecoll::perf
