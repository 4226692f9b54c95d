// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sparsecoll {

/// The value of an environment variable; nothing when it is not set. The one place that asks.
std::optional<std::string> environment(const char* name);

}  // namespace sparsecoll
