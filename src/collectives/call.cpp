// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/call.hpp"

#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

void expect_sound(uint64_t malformed) {
  if (malformed > 0)
    fail(sparsecollRemoteError, "a message was malformed: expected sound counts and indices");
}

void AgreedCall::settle(Kernels& kernels, const Settlement& counts) {
  stats().selected = kernels.read(counts.selected);
  stats().result = kernels.read(counts.result);
  expect_sound(kernels.read(counts.fault));
  confirm();
}

}  // namespace sparsecoll
