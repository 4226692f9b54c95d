// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "common/ranks.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// A description of the hosts on which the ranks run. Nothing else about them is recorded.
struct Machine {
  std::string host;       ///< name of rank 0's host
  std::string kind;       ///< model of the host's processor
  int cores = 0;          ///< cores of rank 0's host
  int hosts = 0;          ///< number of hosts
  std::string placement;  ///< "alpha (ranks 0-3), beta (ranks 4-7)"
  std::string gpu;        ///< model of rank 0's GPU; "": the vectors are in host memory
  int gpus = 0;           ///< number of GPUs of all ranks
};

/// Describes the ranks' hosts, and the GPUs if the vectors are on GPUs. Collective; the result is
/// the same on every rank.
Machine describe_machine(Ranks& ranks);
Machine describe_machine(Ranks& ranks, const Storage& storage);
/// Returns a phrase for tables: "host memory", or "memory of 2 GPUs: ...".
std::string memory_of(const Machine& machine);
/// Returns this rank's number among the ranks of its host. Collective.
int rank_on_host(Ranks& ranks);

/// Returns the library's version, "major.minor.patch".
std::string library_version();

}  // namespace sparsecoll::perf
