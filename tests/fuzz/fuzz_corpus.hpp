// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace sparsecoll::unit {

/// Writes the inputs from which the fuzzer starts. Each target defines its own.
int write_corpus(const std::filesystem::path& folder);

}  // namespace sparsecoll::unit
