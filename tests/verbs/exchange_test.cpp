// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares sparseAlltoall and sparseReduceScatter with their definitions, on every rank, bit for
// bit.

#include "oracle/exchange.hpp"

#include <bit>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

template <class Case>
std::string run_all(int P, const std::vector<Case>& cases,
                    const sparsecollConfig_t& config = default_config()) {
  const Ranks ranks(P, config);
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

/// Between threads the messages of 2000 entries are plain, those of the other cases coded.
TEST_CASE("exchanges with plain messages between ranks that share memory") {
  const sparsecollDataType_t types[] = {sparsecollFloat32, sparsecollFloat64, sparsecollFloat16,
                                        sparsecollBfloat16, sparsecollInt32};
  std::vector<AlltoallCase> moved;
  std::vector<ReduceScatterCase> sums, rounded;
  for (const BoundsKind bounds : kAllBoundsKinds) {
    for (const sparsecollDataType_t type : types) {
      const bool narrow = moved.size() % 2 == 0;
      const int index_type = narrow ? sparsecollIndex32 : sparsecollIndex64;
      moved.push_back({base_seed() + moved.size(), 100000, SparseKind::kFull, bounds, type,
                       index_type, true, moved.size() % 3 == 0, moved.size() % 4 == 3 ? 3u : 1u});
      if (type == sparsecollInt32) continue;
      sums.push_back({base_seed() + sums.size(), 60000, 6000, Kind::kHeavyTail, bounds,
                      oracle::Op::kSum, type, index_type, sums.size() % 2 == 0, false, 2});
      rounded.push_back(sums.back());
      rounded.back().wire = sparsecollWireBf16;
    }
  }
  for (const int P : {2, 3, 4}) {
    CHECK(run_all(P, moved) == "");
    CHECK(run_all(P, sums) == "");
    sparsecollConfig_t config = default_config();
    config.wire = sparsecollWireBf16;
    CHECK(run_all(P, rounded, config) == "");
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

/// Makes two exchanges, in a group or queued, whose arrays of bounds do not exist any more when
/// they run.
std::string exchange_later(sparsecollComm_t comm, int rank, int P, bool grouped) {
  const std::uint64_t count = 500;
  const std::size_t n = 300;
  const auto r = static_cast<std::size_t>(rank);
  const auto sends = make_sparse_of_all<float>(SparseKind::kRandom, count, P, base_seed());
  oracle::DenseInputs<float> in{make_data_of_all<float>(Kind::kHeavyTail, n, P, base_seed()), {}};
  const auto first = make_bounds(BoundsKind::kRandom, count, P, 1);
  const auto second = make_bounds(BoundsKind::kRandom, n, P, 2);
  const auto want = oracle::alltoall<float>(sends, first)[r];
  const auto want_sum =
      oracle::ExchangeOracle<float>::reduce_scatter(in, 20, oracle::Op::kSum, second).result[r];

  const SparseBuffer<float> send(count, sparsecollIndex32, sends[r]);
  SparseBuffer<float> recv(count, sparsecollIndex32, want.entries.size());
  SparseBuffer<float> sum(n, sparsecollIndex64, n);
  std::vector<std::size_t> counts(static_cast<std::size_t>(P));
  std::vector<std::size_t> bounds = first;
  if (grouped) sparsecollGroupStart(comm);
  std::string verdict =
      expect("sparseAlltoall",
             sparseAlltoall(send.get(), recv.get(), counts.data(), bounds.data(), comm, nullptr),
             sparsecollSuccess, comm);
  bounds = second;
  if (verdict.empty()) {
    verdict = expect("sparseReduceScatter",
                     sparseReduceScatter(in.sends[r].data(), sum.get(), n, 20, sparsecollFloat32,
                                         sparsecollSum, bounds.data(), nullptr, comm, nullptr),
                     sparsecollSuccess, comm);
  }
  bounds.assign(bounds.size(), 12345);
  if (!verdict.empty()) return verdict;
  verdict = expect("the end", grouped ? sparsecollGroupEnd(comm) : sparsecollCommSynchronize(comm),
                   sparsecollSuccess, comm);
  if (verdict.empty()) verdict = difference("recv", recv.entries(), want.entries);
  if (verdict.empty()) verdict = difference("recvcounts", counts, want.counts);
  if (verdict.empty()) verdict = difference("sum", sum.entries(), want_sum);
  return verdict;
}

TEST_CASE("exchanges in a group and in the queue, with bounds that do not last") {
  for (const int P : {1, 2, 3, 5, 8}) {
    for (const bool grouped : {true, false}) {
      sparsecollConfig_t config = default_config();
      config.blocking = grouped ? 1 : 0;
      const Ranks ranks(P, config);
      for (int call = 0; call < 3; ++call) {
        CHECK(ranks.run("later", [&](int rank) {
          return exchange_later(ranks.comm(rank), rank, P, grouped);
        }) == "");
      }
    }
  }
}

/// In each of 30 calls, the sum of all residuals and of the delivered values equals the sum of acc
/// over the ranks.
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
