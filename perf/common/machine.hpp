// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// Where the ranks run; nothing else about the machine or its environment is recorded.
struct Machine {
  std::string host;       ///< name of rank 0's host
  std::string kind;       ///< its processor
  int cores = 0;          ///< processors that rank 0's host has for this program
  int hosts = 0;          ///< distinct hosts
  std::string placement;  ///< "alpha (ranks 0-3), beta (ranks 4-7)"
};

/// Collective; the same on every rank.
Machine describe_machine(Ranks& ranks);

/// The library's version, "major.minor.patch".
std::string library_version();

}  // namespace sparsecoll::perf
