// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/descriptor.hpp"
#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// Returns the default configuration of a push-sum state.
sparsecollPushSumConfig_t default_push_sum_config();

/// Returns a complete copy of a caller's configuration; null: the default. Throws InvalidArgument
/// for a value that is out of range and for a struct that was not initialized.
sparsecollPushSumConfig_t make_push_sum_config(const sparsecollPushSumConfig_t* config);

/// The arguments on which the ranks agree when they create, drain or move a state.
struct PushSumIdentity {
  uint64_t count;
  int datatype;
  sparsecollPushSumConfig_t config;
  uint64_t state;  ///< number of the call that created the state; 0: it does not exist yet
  uint64_t step;   ///< 0: the ranks need not agree on it

  Descriptor descriptor(Verb verb) const;
};

}  // namespace sparsecoll
