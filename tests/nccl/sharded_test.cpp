// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sharded over NCCL with allowReordered: where the shards are equal, ncclReduceScatter adds the
// gradients of a node. The values are whole numbers, so that sums in any order are exact.
// ../devices/dense_test.cpp tests sums in rank order.

#include "oracle/sharded.hpp"

#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/data.hpp"
#include "support/variable.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr const char* kVariable = "SPARSECOLL_RANKS_PER_NODE";

sparsecollConfig_t config_of(bool reordered) {
  sparsecollConfig_t config = test::config_of(test::kSharded);
  config.allowReordered = reordered ? 1 : 0;
  return config;
}

/// One rank's gradient, result and residual.
template <class T>
struct Vectors {
  Vectors(sparsecollComm_t comm, size_t n) : in(n), out(n), residual(comm, n), comm(comm) {}
  sparsecollResult_t call(size_t k) const {
    return sparseAllreduce(in.get(), out.get(), in.size(), k, test::kDatatype<T>, sparsecollSum,
                           residual.handle(), comm, stream);
  }

  DeviceArray<T> in, out;
  test::Residual<T> residual;
  OwnStream stream;
  sparsecollComm_t comm;
};

/// Makes three calls with residuals. Returns "" if all are the definition's, otherwise a
/// description.
template <class T>
std::string calls(const Team& team, size_t n, size_t k, bool in_groups = false) {
  const size_t P = static_cast<size_t>(team.size());
  std::vector<std::unique_ptr<Vectors<T>>> vectors(P);
  oracle::DenseInputs<T> in{
      {}, oracle::PerRank<std::vector<oracle::Wide<T>>>(P, std::vector<oracle::Wide<T>>(n, 0))};
  for (unsigned call = 0; call < 3; ++call) {
    in.sends = test::make_data_of_all<T>(test::Kind::kWideIntegers, n, team.size(), 5 + call);
    const auto want = oracle::ShardedOracle<T>::sparse_allreduce(
        in, test::sharded_call(test::kSharded, k, oracle::Op::kSum, P));
    const std::string wrong = team.run("sharded", [&](int rank) {
      const size_t r = static_cast<size_t>(rank);
      auto& own = vectors[r];
      if (!own) own = std::make_unique<Vectors<T>>(team.comm(rank), n);
      own->in.put(in.sends[r], own->stream);
      sparsecollResult_t result =
          in_groups ? test::in_group(own->comm, [&] { own->call(k); }) : own->call(k);
      if (result == sparsecollSuccess) result = sparsecollCommSynchronize(own->comm);
      std::string text = result_mismatch(result, sparsecollSuccess, own->comm);
      if (text.empty()) text = test::difference("recv", own->out.read(own->stream), want.result);
      if (text.empty())
        text = test::difference("residual", own->residual.read(), want.residuals[r]);
      return text;
    });
    if (!wrong.empty()) return wrong;
    in.residuals = want.residuals;
  }
  return "";
}

/// Returns how often the ranks called ncclReduceScatter.
template <class Body>
size_t reduce_scatters(const Body& body) {
  const size_t before = nccl_stand_in::reduce_scatters();
  body();
  return nccl_stand_in::reduce_scatters() - before;
}

TEST_CASE("ncclReduceScatter adds the gradients of a node whose shards are equal") {
  for (const size_t per_node : {2, 3}) {
    const test::Variable nodes(kVariable, std::to_string(per_node));
    for (const size_t P : {per_node, 2 * per_node, 3 * per_node}) {
      CAPTURE(per_node, P);
      const Team team(static_cast<int>(P), config_of(true));
      const size_t n = 30 * per_node;
      CHECK(reduce_scatters([&] {
              CHECK(calls<float>(team, n, 12) == "");
              CHECK(calls<double>(team, n, 12, true) == "");
              CHECK(calls<float>(team, n, n) == "");
            }) == 9 * P);
    }
  }
}

TEST_CASE("elsewhere the gradients are sent, and added in rank order") {
  const test::Variable nodes(kVariable, "2");
  const auto check = [](int P, bool reordered, size_t n) {
    CAPTURE(P, reordered, n);
    const Team team(P, config_of(reordered));
    CHECK(reduce_scatters([&] { CHECK(calls<float>(team, n, 12) == ""); }) == 0);
  };
  check(4, false, 60);
  check(4, true, 61);  // shards of 30 and 31
  check(5, true, 60);  // one node has one rank: one shard
  const Team team(4, config_of(true));
  CHECK(reduce_scatters([&] { CHECK(calls<oracle::Float16>(team, 60, 12) == ""); }) == 0);
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
