// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs many test cases at the same time, because most of them only wait for a deadline.

#include <functional>
#include <string>

namespace sparsecoll::fault {

/// Calls check(0) to check(count - 1) on a few threads. check() returns "" or a description of the
/// error. Stops at the first error and returns its description, otherwise "".
std::string run_cases(size_t count, const std::function<std::string(size_t)>& check);

/// Returns the value of an environment variable as a number, or `otherwise` if it is not set.
size_t number_from(const char* variable, size_t otherwise);

}  // namespace sparsecoll::fault
