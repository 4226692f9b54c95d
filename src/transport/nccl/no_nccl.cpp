// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Replaces the transport over NCCL in a library that is built without NCCL.
#include "core/error.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll {

std::unique_ptr<StreamTransport> make_nccl_transport(ncclComm* /*comm*/, const Deadline&) {
  fail(sparsecollInvalidUsage, "nccl: this library was built without NCCL");
}

}  // namespace sparsecoll
