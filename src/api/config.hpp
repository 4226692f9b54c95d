// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "calls/descriptor.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "kernels/host/filter.hpp"
#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

class TopologyTree;

/// The number of processes that a launcher started, and the variable that says so.
struct LaunchedRanks {
  const char* variable;
  int count;
};

/// A checked configuration: the caller's struct, overridden by the environment.
struct Config {
  sparsecollConfig_t values = SPARSECOLL_CONFIG_INITIALIZER;
  bool check = true;
  int ranks_per_node = 0;  ///< consecutive ranks that share a node; 0: the ranks of one machine
                           ///< share it
  std::shared_ptr<const TopologyTree> tree;  ///< the tree of SPARSECOLL_TOPOLOGY; null: the
                                             ///< variable is not set
  std::string slurm_address, slurm_pattern;  ///< the switches above this node; may be empty
  LogLevel log_level = LogLevel::none;
  std::string log_file;
  std::string timeline;         ///< pattern of the names of timeline files; empty: none are written
  std::string flight_recorder;  ///< pattern of the names of flight records; empty: none are written
  int flight_signal = 0;        ///< the signal that writes flight records; 0: none
  std::optional<host::Simd> simd;  ///< none: the best level of the machine
  bool binds = true;               ///< whether threads of the library are bound to CPUs
  std::optional<int> threads;      ///< threads that select; none: this rank's share of the CPUs
  std::optional<bool> cuda_aware;  ///< whether MPI accepts device memory; none: what MPI reports
  std::optional<bool>
      mpi_eager;  ///< whether all messages are sent eagerly; none: only those to other machines
  std::optional<int> spin_us;  ///< how long a rank polls before it sleeps; none: depends on its
                               ///< CPUs
  std::optional<LaunchedRanks> launched;  ///< none: no launcher says how many there are
};

/// A configuration that can be used, and the first problem of its source: the field or variable,
/// the expected value and the value that it has. Bad fields have their defaults, good ones their
/// values: this rank needs its timeout while it waits until all ranks know of the problem.
struct CheckedConfig {
  Config config;
  std::optional<Error> problem;  ///< InvalidArgument
};

/// Checks a configuration. `check`: whether messages are verified unless the environment overrides
/// it.
CheckedConfig check_config(const sparsecollConfig_t* config, bool check = true);

/// Returns the checked configuration, or throws the problem.
Config make_config(const sparsecollConfig_t* config, bool check = true);

/// Returns how many processes the launcher says that it started, if that is more than one. The
/// variables are those of torchrun, Slurm, MPICH and Open MPI.
std::optional<LaunchedRanks> launched_ranks();

/// Throws InvalidUsage if the configuration expects another number of ranks.
void check_expected_ranks(const Config& config, int ranks);

/// Returns a warning for an MPI that has one rank: none, unless the launcher says that it started
/// more and the configuration does not expect one rank.
std::optional<std::string> warning_of_one_rank(const Config& config);

/// Checks the number of a device, or one of the two numbers that stand for a choice.
void check_device(const std::string& name, int device);

/// Checks that the configuration asks for no other device than this one, which is NCCL's.
void check_nccl_device(const Config& config, int device);

/// Throws InvalidArgument if the configuration has a setting that calls in stream order lack.
void check_stream_order(const Config& config);

/// Returns the settings on which the ranks must agree at init.
Descriptor describe(const Config& config);

}  // namespace sparsecoll
