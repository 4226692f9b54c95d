// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of NCCL with one rank, which any GPU can run.

#include "nccl/gpu_contract.hpp"
#include "nccl/replays.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

TEST_CASE("NCCL keeps the contract of a transport") { CHECK(contract_on_gpu(1) == ""); }

TEST_CASE("sums over NCCL can be captured and replayed") { CHECK(compare_replays(1, sums) == ""); }

TEST_CASE("steps of push-sum over NCCL can be captured and replayed") {
  CHECK(compare_replays(1, steps) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
