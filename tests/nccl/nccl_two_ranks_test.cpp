// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of NCCL with two ranks that share a GPU. NCCL 2.30 and later allow it if
// NCCL_MULTI_RANK_GPU_ENABLE is set. The kernels of the two ranks wait for each other, and one GPU
// may never run them at the same time. So nobody should rely on it, and a failure here does not
// mean that the library is wrong.

#include <cstdio>
#include <cstdlib>

#include "nccl/gpu_contract.hpp"
#include "nccl/replays.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

/// Ends the program as a test that was skipped unless the user allows two ranks.
void need_permission() {
  if (std::getenv("NCCL_MULTI_RANK_GPU_ENABLE")) return;
  std::printf("SKIPPED: needs NCCL 2.30 and NCCL_MULTI_RANK_GPU_ENABLE=1\n");
  std::fflush(stdout);
  std::_Exit(77);
}

TEST_CASE("two ranks on a GPU: NCCL keeps the contract of a transport") {
  need_permission();
  CHECK(contract_on_gpu(2) == "");
}

TEST_CASE("two ranks on a GPU: sums over NCCL can be captured and replayed") {
  need_permission();
  CHECK(compare_replays(2, sums) == "");
}

TEST_CASE("two ranks on a GPU: steps of push-sum over NCCL can be captured and replayed") {
  need_permission();
  CHECK(compare_replays(2, steps) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
