// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulated/model.hpp"

namespace sparsecoll::perf {

/// The options of --transport simulated.
void add_network(CLI::App& app, NetworkModel& model);
/// Throws CLI::ValidationError for those of another transport.
void check_network(const CLI::App& app, const std::string& transport);

/// "1 Gbit/s, 50 us, ..." for headers of tables.
std::string describe(const NetworkModel& model);

}  // namespace sparsecoll::perf
