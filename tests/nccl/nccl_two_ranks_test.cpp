// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Over NCCL with two ranks that share a GPU, which NCCL allows from 2.30 on when it is asked to
// (NCCL_MULTI_RANK_GPU_ENABLE). Two kernels that wait for each other on one GPU may wait for ever,
// so that nobody should rely on this, and nothing is said against the library where it fails.

#include <cstdio>
#include <cstdlib>

#include "nccl/replays.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

void need_permission() {
  if (std::getenv("NCCL_MULTI_RANK_GPU_ENABLE")) return;
  std::printf("SKIPPED: needs NCCL 2.30 and NCCL_MULTI_RANK_GPU_ENABLE=1\n");
  std::fflush(stdout);
  std::_Exit(77);
}

TEST_CASE("two ranks on a GPU: sums over NCCL can be captured and replayed") {
  need_permission();
  CHECK(replayed(2, sums) == "");
}

TEST_CASE("two ranks on a GPU: steps of push-sum over NCCL can be captured and replayed") {
  need_permission();
  CHECK(replayed(2, steps) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
