// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The transport over UCX in a build without it.

#include "core/error.hpp"
#include "transport/ucx/transport.hpp"

namespace sparsecoll {

namespace {

[[noreturn]] void refuse() {
  fail(sparsecollInvalidUsage, "this library was built without UCX (SPARSECOLL_UCX)");
}

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const UcxRank&, Bootstrap&, const Deadline&) {
  refuse();
}
std::string ucx_version() { refuse(); }

}  // namespace sparsecoll
