// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/call.hpp"

#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

void AgreedCall::settle(Kernels& kernels, const Settlement& counts) {
  stats().selected = kernels.read(counts.selected);
  stats().result = kernels.read(counts.result);
  if (kernels.read(counts.fault) != 0)
    fail(sparsecollRemoteError, "a message was malformed: expected sound counts and indices");
  confirm();
}

}  // namespace sparsecoll
