// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/communicator.hpp"

namespace sparsecoll {

/// Returns the configuration of a communicator that is made of ranks of `parent`. Without `config`
/// it is the parent's, for any number of ranks. Throws InvalidArgument.
Config child_config(const Communicator& parent, const sparsecollConfig_t* config);

}  // namespace sparsecoll
