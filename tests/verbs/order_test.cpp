// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the order of the terms in a residual: acc = residual + sent with one rounding, then the
// values that merges dropped.

#include <array>

#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {

TEST_CASE("gtopkAllreducev rounds acc before it adds what a merge dropped") {
  const sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  const Ranks ranks(3, config);
  std::array<float, 3> left{};
  // k = 1. Rank 0 selects index 0, keeps 1e-9 at index 1, drops rank 1's 2 there; rank 2's 100 at
  // index 1 wins. Its residual -2 takes in 1e-9 first, which vanishes, then 2.
  CHECK(ranks.run("gtopkAllreducev", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    sparsecollResidual_t residual = nullptr;
    if (sparsecollResidualCreate(&residual, 3, sparsecollFloat32, comm)) return "no residual";
    const std::array<float, 3> before{0, rank == 0 ? -2.0f : 0.0f, 0};
    sparsecollResidualWrite(residual, before.data());
    std::array<uint32_t, 2> index{0, 1}, result_index{};
    std::array<float, 2> value{10, 1e-9f}, result_value{};
    sparsecollSparse_t send = SPARSECOLL_SPARSE_INITIALIZER, recv = send;
    send.count = 3;
    send.nnz = send.capacity = 2;
    send.indices = index.data();
    send.values = value.data();
    recv.capacity = 2;
    recv.indices = result_index.data();
    recv.values = result_value.data();
    if (rank > 0) {
      index[0] = 1;
      send.nnz = 1;
      value[0] = rank == 1 ? 2.0f : 100.0f;
    }
    if (gtopkAllreducev(&send, &recv, 1, sparsecollSum, residual, comm, nullptr))
      return sparsecollGetLastError(comm);
    if (rank == 0) sparsecollResidualRead(residual, left.data());
    return recv.nnz == 1 && result_index[0] == 1 && result_value[0] == 100 ? "" : "wrong result";
  }) == "");
  CHECK(left == std::array<float, 3>{10, 0, 0});
}

}  // namespace sparsecoll::test
