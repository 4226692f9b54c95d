// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulated/model.hpp"

namespace sparsecoll::perf {

/// Adds the options of --transport simulated to the command line; they write to `model`.
void add_network(CLI::App& app, NetworkModel& model);
/// Throws CLI::ValidationError if one of these options was given with another transport.
void check_network(const CLI::App& app, const std::string& transport);

/// Returns a line for the header of a table: "simulated: 1 Gbit/s a link, latency 50 us, ...".
std::string describe(const NetworkModel& model);

}  // namespace sparsecoll::perf
