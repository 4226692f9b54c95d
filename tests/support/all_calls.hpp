// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstdint>
#include <string>

namespace sparsecoll::test {

/// Makes a few calls of every kind on one rank, for tests that disturb them: all verbs in all forms
/// against the oracles, push-sum, groups, splits, and states that are saved and loaded. This rank
/// may write to `file`. Between calls ranks sleep, so that the others wait for them. Returns "" or
/// what is wrong. All ranks pass the same seed.
std::string make_all_calls(sparsecollComm_t comm, const std::string& file, std::uint64_t seed);

}  // namespace sparsecoll::test
