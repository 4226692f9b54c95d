// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sparsecoll {

/// Returns the value of an environment variable; none if it is not set. All of the library reads
/// its environment with this function.
std::optional<std::string> environment(const char* name);

}  // namespace sparsecoll
