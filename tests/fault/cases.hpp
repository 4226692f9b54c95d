// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cases of failures mostly wait for deadlines, so several run at a time.

#include <functional>
#include <string>

namespace sparsecoll::fault {

/// Runs check(0) to check(count - 1), which return "" or what is wrong, on a few threads. Stops at
/// the first that fails and returns its verdict.
std::string run_cases(size_t count, const std::function<std::string(size_t)>& check);

/// An environment variable as a number.
size_t number_from(const char* variable, size_t otherwise);

}  // namespace sparsecoll::fault
