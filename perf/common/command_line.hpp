// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace sparsecoll::perf {

/// Parses the command line of a program, and then calls `complete`, which may throw
/// CLI::ValidationError. Returns whether the program goes on. If not, has written the help, which
/// ends with `examples`, and set `status` to 0, or has written what is wrong, with the nearest
/// option if there is none of that name, and set it to 2.
bool parse_command_line(CLI::App& app, int argc, char** argv, const std::string& examples,
                        const std::function<void()>& complete, int* status);

// Values of options.
/// A number of bytes or entries, such as 16M. CLI11 alone would accept a negative number and wrap
/// it around.
CLI::Validator size_value();
/// A time, such as 50us.
CLI::Validator time_value();
/// A rate, such as 1gbit.
CLI::Validator rate_value();

}  // namespace sparsecoll::perf
