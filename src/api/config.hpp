// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "calls/descriptor.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "kernels/host/filter.hpp"
#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// A checked configuration: the caller's struct, overridden by the environment.
struct Config {
  sparsecollConfig_t values = SPARSECOLL_CONFIG_INITIALIZER;
  bool check = true;
  int ranks_per_node = 0;  ///< that many in a row share one; 0: those of one machine
  LogLevel log_level = LogLevel::none;
  std::string log_file;
  std::string timeline;            ///< pattern of files that timelines are written to; empty: none
  std::optional<host::Simd> simd;  ///< none: the machine's best
  std::optional<int> threads;      ///< of this rank's selection; none: its share of the CPUs
  std::optional<bool> cuda_aware;  ///< MPI takes memory of devices; none: as it says itself
  std::optional<bool> mpi_pieces;  ///< messages go in pieces; none: those to other machines
};

/// Throws InvalidArgument naming the field or variable, what was expected and what it got. `check`:
/// whether messages are verified where the environment does not say.
Config make_config(const sparsecollConfig_t* config, bool check = true);

/// The number of a device, or one of the two that stand for a choice.
void check_device(const std::string& name, int device);

/// The configuration must not want another device than this one, NCCL's.
void check_place(const Config& config, int device);

/// What ranks agree on at init.
Descriptor describe(const Config& config);

}  // namespace sparsecoll
