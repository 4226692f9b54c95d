// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstdint>

namespace sparsecoll::soak {

/// Returns the number of the last call.
inline uint64_t sequence_of(sparsecollComm_t comm) {
  uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

/// Returns the result of a call that was queued, if it was.
inline sparsecollResult_t completed(sparsecollResult_t result, sparsecollComm_t comm, bool queued) {
  return queued && result == sparsecollSuccess ? sparsecollCommWait(comm, sequence_of(comm))
                                               : result;
}

}  // namespace sparsecoll::soak
