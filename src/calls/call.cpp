// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/call.hpp"

#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

void visit_received(std::span<const Transfer> transfers,
                    FunctionRef<void(size_t transfer)> on_message) {
  for (size_t i = 0; i < transfers.size(); ++i)
    if (transfers[i].in_bound > 0) on_message(i);
}

void refuse_malformed(uint64_t messages) {
  if (messages > 0)
    fail(sparsecollRemoteError, "a message was malformed: expected sound counts and indices");
}

void Call::reduce_scatter_in_node(const void*, size_t, size_t, DataType, void*) {
  fail(sparsecollInternalError, "this call cannot add within nodes");
}

void AgreedCall::mark() { fail(sparsecollInternalError, "this call cannot be marked"); }

void AgreedCall::confirm_counts(Kernels& kernels, const CallCounts& counts) {
  stats().selected = kernels.read(counts.selected);
  stats().result = kernels.read(counts.result);
  refuse_malformed(kernels.read(counts.fault));
  confirm();
}

}  // namespace sparsecoll
