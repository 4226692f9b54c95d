// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "common/ranks.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// Where the ranks run; nothing else about the machine or its environment is recorded.
struct Machine {
  std::string host;       ///< name of rank 0's host
  std::string kind;       ///< its processor
  int cores = 0;          ///< processors that rank 0's host has for this program
  int hosts = 0;          ///< distinct hosts
  std::string placement;  ///< "alpha (ranks 0-3), beta (ranks 4-7)"
  std::string gpu;        ///< name of rank 0's; "": the vectors are in host memory
  int gpus = 0;           ///< distinct ones of all ranks
};

/// Collective; the same on every rank.
Machine describe_machine(Ranks& ranks);
Machine describe_machine(Ranks& ranks, const Storage& storage);
/// Where the vectors are, in words.
std::string memory_of(const Machine& machine);
/// This rank's number among those on its host. Collective.
int rank_on_host(Ranks& ranks);

/// The library's version, "major.minor.patch".
std::string library_version();

}  // namespace sparsecoll::perf
