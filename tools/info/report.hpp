// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/config.hpp"
#include "core/hardware.hpp"

namespace sparsecoll::info {

using Json = nlohmann::ordered_json;

/// Returns all that the program reports on this process.
Json make_report();

// Its parts.
Json transports();
Json shared_libraries();
Json instructions(const Config& config);
Json variables(const CheckedConfig& checked);
Json processors(const Config& config, bool valid);
Json machine();
Json topology(const Config& config);
Json devices();
Json interfaces();

/// Keeps the communicators of this program from writing files, which may be those of the program
/// whose environment it has. Afterwards variables() no longer tells of these files.
void write_no_files();
/// Returns "0-3,8" for the CPUs 0, 1, 2, 3 and 8.
std::string list_of(const Cpus& cpus);
/// Returns the version of MPI's library, in one line; none in a build without MPI (mpi.cpp,
/// no_mpi.cpp).
std::optional<std::string> mpi_version();

/// Writes JSON. Bytes of variables that are not UTF-8 are replaced.
std::string json_text(const Json& json);
/// Writes the report for people to read.
std::string text_of(const Json& report);

}  // namespace sparsecoll::info
