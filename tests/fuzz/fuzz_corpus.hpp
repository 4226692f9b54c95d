// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace sparsecoll::unit {

/// Writes the inputs that a fuzzer starts from; each target has its own.
int write_corpus(const std::filesystem::path& folder);

}  // namespace sparsecoll::unit
