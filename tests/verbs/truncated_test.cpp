// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests outputs that are too small, and sparsecollFetch of the results that did not fit.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::uint64_t kCount = 900;

using Entries = oracle::Sparse<float>;

/// sparsecollFetch into room for `capacity` entries.
sparsecollResult_t fetch(SparseBuffer<float>& recv, sparsecollComm_t comm) {
  return sparsecollFetch(recv.get(), nullptr, comm, nullptr);
}

/// Too small once more, then right, twice: fetching removes nothing.
std::string fetch_all(sparsecollComm_t comm, int index_type, const Entries& want) {
  SparseBuffer<float> small(kCount, index_type, want.size() - 1);
  std::string verdict = expect("a small fetch", fetch(small, comm), sparsecollTruncated, comm);
  if (!verdict.empty()) return verdict;
  if (small.get()->needed != want.size()) return "needed is wrong after a small fetch";
  for (int time = 0; time < 2; ++time) {
    SparseBuffer<float> recv(0, index_type, want.size() + static_cast<std::size_t>(time));
    verdict = expect("fetch", fetch(recv, comm), sparsecollSuccess, comm);
    if (!verdict.empty()) return verdict;
    if (recv.get()->count != kCount) return "fetch did not write count";
    verdict = difference("fetched", recv.entries(), want);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

/// Fetches that must be refused, and that must not lose the data.
std::string fetch_wrongly(sparsecollComm_t comm, int index_type, std::size_t capacity) {
  const int other = index_type == sparsecollIndex32 ? sparsecollIndex64 : sparsecollIndex32;
  SparseBuffer<float> other_index(kCount, other, capacity);
  std::string verdict =
      expect("another index type", fetch(other_index, comm), sparsecollInvalidArgument, comm);
  if (!verdict.empty()) return verdict;
  SparseBuffer<double> other_value(kCount, index_type, capacity);
  verdict = expect("another datatype", sparsecollFetch(other_value.get(), nullptr, comm, nullptr),
                   sparsecollInvalidArgument, comm);
  if (!verdict.empty()) return verdict;
  return expect("no struct", sparsecollFetch(nullptr, nullptr, comm, nullptr),
                sparsecollInvalidArgument, comm);
}

/// Makes one call in which the ranks of `is_small` lack memory for the last `missing` entries.
std::string truncate(const Ranks& ranks, const Mode& mode, std::size_t k, int index_type,
                     const std::function<bool(int)>& is_small) {
  const auto P = static_cast<std::size_t>(ranks.size());
  oracle::SparseInputs<float> in;
  in.sends = make_sparse_of_all<float>(SparseKind::kRandom, kCount, ranks.size(), base_seed() + k);
  in.residuals.assign(P, std::vector<float>(kCount, 0.0f));
  const auto want = expected(mode, in, k, oracle::Op::kSum);
  const auto residuals = make_residuals<float>(ranks.comms(), kCount, true);
  return ranks.run(std::string("truncated ") + mode.name, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const sparsecollComm_t comm = ranks.comm(rank);
    const std::size_t missing = is_small(rank) ? 1 + r % want.result.size() : 0;
    const SparseBuffer<float> send(kCount, index_type, in.sends[r]);
    SparseBuffer<float> recv(kCount, index_type, want.result.size() - missing);
    const sparsecollResult_t result = call_sparse_verb(
        mode.verb, {send.get(), recv.get(), k, sparsecollSum, residuals[r].handle()}, comm);
    std::string verdict =
        expect("the verb", result, missing != 0 ? sparsecollTruncated : sparsecollSuccess, comm);
    if (verdict.empty() && missing != 0) {
      if (recv.get()->needed != want.result.size()) return std::string("needed is wrong");
      verdict = fetch_wrongly(comm, index_type, want.result.size());
      if (verdict.empty()) verdict = fetch_all(comm, index_type, want.result);
    } else if (verdict.empty()) {
      verdict = difference("recv", recv.entries(), want.result);
    }
    // Truncated or not, the operation is done: the residual is committed.
    if (verdict.empty()) verdict = difference("residual", residuals[r].read(), want.residuals[r]);
    return verdict;
  });
}

TEST_CASE("an output that is too small is fetched later, on the ranks where it was") {
  for (const int P : {1, 2, 3, 4, 7}) {
    for (const Mode& mode : kTopkModes) {
      const Ranks ranks(P, config_of(mode));
      for (const std::size_t k : {std::size_t{30}, SPARSECOLL_ALL}) {
        for (const int index_type : {sparsecollIndex32, sparsecollIndex64}) {
          CHECK(truncate(ranks, mode, k, index_type, [](int) { return true; }) == "");
          CHECK(truncate(ranks, mode, k, index_type, [P](int r) { return r == P - 1; }) == "");
          CHECK(truncate(ranks, mode, k, index_type, [](int) { return false; }) == "");
        }
      }
    }
  }
}

TEST_CASE("an output without room asks for the size") {
  const Ranks ranks(2, default_config());
  const Entries entries{{3, 1.0f}, {8, 2.0f}};
  CHECK(ranks.run("no room", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const SparseBuffer<float> send(kCount, sparsecollIndex32, entries);
    sparsecollSparse_t recv = SPARSECOLL_SPARSE_INITIALIZER;
    const sparsecollResult_t result =
        sparseAllreducev(send.get(), &recv, 5, sparsecollSum, nullptr, comm, nullptr);
    if (recv.needed != 2) return "needed = " + std::to_string(recv.needed);
    return expect("the verb", result, sparsecollTruncated, comm);
  }) == "");
}

TEST_CASE("the data stay until the next verb, and only local calls may come before the fetch") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("nothing kept", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    SparseBuffer<float> recv(kCount, sparsecollIndex32, 10);
    std::string verdict =
        expect("a fetch before any verb", fetch(recv, comm), sparsecollInvalidUsage, comm);
    const SparseBuffer<float> send(kCount, sparsecollIndex32, Entries{{1, 1.0f}, {2, 2.0f}});
    SparseBuffer<float> none(kCount, sparsecollIndex32, 0);
    const SparseCall small{send.get(), none.get(), 9};
    const SparseCall good{send.get(), recv.get(), 9};
    if (verdict.empty()) {
      verdict = expect("a small call", call_sparse_verb(Verb::kSparse, small, comm),
                       sparsecollTruncated, comm);
    }
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
    if (verdict.empty()) {
      verdict = expect("a fetch after a local call", fetch(recv, comm), sparsecollSuccess, comm);
    }
    if (verdict.empty()) {
      verdict = expect("a good call", call_sparse_verb(Verb::kGtopk, good, comm), sparsecollSuccess,
                       comm);
    }
    if (verdict.empty()) {
      verdict = expect("a fetch after it", fetch(recv, comm), sparsecollInvalidUsage, comm);
    }
    return verdict;
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
