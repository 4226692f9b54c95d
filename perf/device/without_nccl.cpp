// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "common/ranks.hpp"

namespace sparsecoll::perf {

bool nccl_available() { return false; }

Communicator connect_nccl(Ranks&, const sparsecollConfig_t&) {
  throw std::logic_error("this build has no NCCL");
}

}  // namespace sparsecoll::perf
