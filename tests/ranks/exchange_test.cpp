// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// sparseAlltoall and sparseReduceScatter against their definitions, on every rank, bit for bit.

#include <bit>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

template <class Case>
std::string run_all(int P, const std::vector<Case>& cases) {
  const Ranks ranks(P, default_config());
  for (const Case& c : cases) {
    const std::string verdict =
        ranks.run("exchange", [&](int rank) { return join_case(ranks.comm(rank), c); });
    if (!verdict.empty()) return verdict;
  }
  return "";
}

TEST_CASE("sparseAlltoall takes every entry to its owner, also where there is no room at first") {
  for (const int P : rank_counts()) {
    CHECK(run_all(P, alltoall_cases_of(P, small_run() ? 5 : 1)) == "");
  }
}

TEST_CASE("sparseReduceScatter gives every rank its region of the sum") {
  for (const int P : rank_counts()) {
    CHECK(run_all(P, reduce_scatter_cases_of(P, small_run() ? 7 : 2)) == "");
  }
}

TEST_CASE("sparseAlltoall with dense lengths up to the largest number there is") {
  std::vector<AlltoallCase> cases;
  for (const std::uint64_t count :
       {(std::uint64_t{1} << 32) + 64, std::uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX}) {
    for (const BoundsKind bounds : kAllBoundsKinds) {
      cases.push_back({base_seed(), count, SparseKind::kRandom, bounds, any_type(cases.size()),
                       sparsecollIndex64});
    }
  }
  cases.push_back({base_seed(), std::uint64_t{1} << 32});
  for (const int P : {1, 2, 3, 7}) CHECK(run_all(P, cases) == "");
}

TEST_CASE("values arrive with the bits that they were sent with, NaNs canonical") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("bits", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const float strange = std::bit_cast<float>(0xffc12345u);
    const oracle::Sparse<float> entries{
        {1, -0.0f}, {4, std::numeric_limits<float>::denorm_min()}, {5, strange}, {8, 0.0f}};
    const SparseBuffer<float> send(9, sparsecollIndex32, entries);
    SparseBuffer<float> recv(9, sparsecollIndex32, 100);
    const std::string verdict =
        expect("the verb", sparseAlltoall(send.get(), recv.get(), nullptr, nullptr, comm, nullptr),
               sparsecollSuccess, comm);
    if (!verdict.empty()) return verdict;
    const std::vector<std::vector<std::uint32_t>> want{
        {0x80000000u}, {0x00000001u, 0x7fc00000u}, {0x00000000u}};
    const auto got = recv.entries();
    const auto& mine = want[static_cast<std::size_t>(rank)];
    if (got.size() != 3 * mine.size()) return "wrong number of entries";
    for (std::size_t j = 0; j < got.size(); ++j) {
      if (std::bit_cast<std::uint32_t>(got[j].value) != mine[j % mine.size()]) return "wrong bits";
    }
    return "";
  }) == "");
}

/// Sum over ranks of residuals and of what was delivered = sum over ranks of acc, 30 calls long.
TEST_CASE("sparseReduceScatter loses nothing") {
  const std::size_t n = 500;
  for (const int P : {1, 2, 5, 8}) {
    const Ranks ranks(P, default_config());
    const auto residuals = make_residuals<double>(ranks.comms(), n, true);
    std::vector<double> put_in(n, 0), delivered(n, 0);
    for (std::uint64_t call = 0; call < 30; ++call) {
      const auto sends = make_data_of_all<double>(Kind::kIntegers, n, P, base_seed() + call);
      for (const auto& send : sends) {
        for (std::size_t i = 0; i < n; ++i) put_in[i] += send[i];
      }
      std::vector<oracle::Sparse<double>> parts(sends.size());
      REQUIRE(ranks.run("conservation", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        SparseBuffer<double> recv(n, sparsecollIndex64, n);
        const sparsecollResult_t result = sparseReduceScatter(
            sends[r].data(), recv.get(), n, 40, sparsecollFloat64, sparsecollSum, nullptr,
            residuals[r].handle(), ranks.comm(rank), nullptr);
        parts[r] = recv.entries();
        return expect("the verb", result, sparsecollSuccess, ranks.comm(rank));
      }) == "");
      for (const auto& part : parts) {
        for (const auto& entry : part) delivered[entry.index] += entry.value;
      }
    }
    for (const auto& residual : residuals) {
      const std::vector<double> left = residual.read();
      for (std::size_t i = 0; i < n; ++i) delivered[i] += left[i];
    }
    CHECK(difference("delivered and left", delivered, put_in) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
