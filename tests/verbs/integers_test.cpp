// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests int32 and int64. In coordinate form sums are exact and wrap. Calls that would select,
// divide or keep values back are refused.

#include <cstdint>
#include <limits>
#include <map>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "support/sparse_data.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

/// Returns the input of one rank: small numbers, the ends of the range and zeros, at both ends of
/// the index range.
template <class T>
oracle::Sparse<T> make_integers(std::uint64_t count, int rank, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::map<std::uint64_t, T> entries;
  const auto r = static_cast<std::uint64_t>(rank);
  if (count == 0 || noise(seed, r, 1000) % 5 == 0) return {};
  for (std::uint64_t j = 0; j < noise(seed, r) % 200; ++j) {
    const std::uint64_t h = noise(seed, r, j + 1);
    const T special[] = {Limits::max(), Limits::min(), 0, -1, Limits::max() - 5};
    const T small = static_cast<T>(static_cast<int>((h >> 8) % 2001) - 1000);
    entries[noise(seed, j % 2 == 0 ? 99 : r, j) % count] =
        h % 4 == 0 ? special[(h >> 8) % 5] : small;
  }
  entries[count - 1] = static_cast<T>(rank + 1);
  oracle::Sparse<T> sorted;
  for (const auto& [index, value] : entries) sorted.push_back({index, value});
  return sorted;
}

/// Returns the sum modulo 2^64, converted to T.
template <class T>
oracle::Sparse<T> wrapping_sum(const oracle::PerRank<oracle::Sparse<T>>& sends) {
  std::map<std::uint64_t, std::uint64_t> sums;
  for (const auto& send : sends)
    for (const auto& entry : send)
      sums[entry.index] += static_cast<std::uint64_t>(std::int64_t{entry.value});
  oracle::Sparse<T> sum;
  for (const auto& [index, value] : sums) sum.push_back({index, static_cast<T>(value)});
  return sum;
}

template <class T>
std::string check_sums(const Ranks& ranks, const Mode& mode, std::uint64_t count, int index_type,
                       std::uint64_t seed) {
  oracle::PerRank<oracle::Sparse<T>> sends;
  for (int rank = 0; rank < ranks.size(); ++rank)
    sends.push_back(make_integers<T>(count, rank, seed));
  const oracle::Sparse<T> want = wrapping_sum(sends);
  return ranks.run(std::string(mode.name) + " count=" + std::to_string(count), [&](int rank) {
    const SparseBuffer<T> send(count, index_type, sends[static_cast<std::size_t>(rank)]);
    SparseBuffer<T> recv(0, index_type, want.size());
    const sparsecollComm_t comm = ranks.comm(rank);
    const sparsecollResult_t result =
        call_sparse_verb(mode.verb, {send.get(), recv.get(), SPARSECOLL_ALL}, comm);
    const std::string verdict = expect("the verb", result, sparsecollSuccess, comm);
    return verdict.empty() ? difference("recv", recv.entries(), want) : verdict;
  });
}

TEST_CASE("integers are added up, wrapping") {
  for (const Mode& mode : kTopkModes) {
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_of(mode));
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{150},
                                        std::uint64_t{5000}, std::uint64_t{1} << 40, UINT64_MAX}) {
        const int narrow = count > 5000 ? sparsecollIndex64 : sparsecollIndex32;
        CHECK(check_sums<std::int32_t>(ranks, mode, count, narrow, base_seed()) == "");
        CHECK(check_sums<std::int64_t>(ranks, mode, count, sparsecollIndex64, base_seed()) == "");
      }
    }
  }
}

TEST_CASE("a sum of integers that does not fit can be fetched") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("truncated", [&](int rank) {
    const oracle::Sparse<std::int64_t> entries{{3, INT64_MAX}, {1000, -5}};
    const SparseBuffer<std::int64_t> send(2000, sparsecollIndex32, entries);
    SparseBuffer<std::int64_t> recv(0, sparsecollIndex32, 1), larger(0, sparsecollIndex32, 2);
    const sparsecollComm_t comm = ranks.comm(rank);
    std::string verdict = expect(
        "the verb", call_sparse_verb(Verb::kSparse, {send.get(), recv.get(), SPARSECOLL_ALL}, comm),
        sparsecollTruncated, comm);
    if (verdict.empty())
      verdict = expect("sparsecollFetch", sparsecollFetch(larger.get(), nullptr, comm, nullptr),
                       sparsecollSuccess, comm);
    return verdict.empty() ? difference("recv", larger.entries(), {{3, -2}, {1000, -10}}) : verdict;
  }) == "");
}

/// Makes a call with bad arguments. Returns "" if the result is InvalidArgument with a message that
/// contains `why`, and otherwise a description.
std::string refused(const SparseCall& call, Verb verb, sparsecollComm_t comm,
                    const std::string& why) {
  const std::string verdict =
      expect("the verb", call_sparse_verb(verb, call, comm), sparsecollInvalidArgument, comm);
  if (!verdict.empty()) return verdict;
  const std::string message = sparsecollGetLastError(comm);
  return message.find(why) == std::string::npos ? "no '" + why + "' in: " + message : "";
}

TEST_CASE("integers are refused with a selection, an average or a residual") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  const oracle::Sparse<std::int32_t> entries{{1, 5}, {7, -5}};
  const SparseBuffer<std::int32_t> send(10, sparsecollIndex32, entries);
  SparseBuffer<std::int32_t> recv(10, sparsecollIndex32, 2);
  const auto before = recv.image();
  for (const Verb verb : {Verb::kSparse, Verb::kGtopk}) {
    SparseCall call{send.get(), recv.get(), 5};
    CHECK(refused(call, verb, comm, "k: expected SPARSECOLL_ALL with sparsecollInt32, got 5") ==
          "");
    call = {send.get(), recv.get(), SPARSECOLL_ALL, sparsecollAvg};
    CHECK(refused(call, verb, comm, "op: expected sparsecollSum (0) with sparsecollInt32, got 4") ==
          "");
    const Residual<float> residual(comm, 10);
    call = {send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, residual.handle()};
    CHECK(refused(call, verb, comm, "residual: expected datatype sparsecollInt32") == "");
  }
  CHECK(recv.image() == before);
  std::vector<std::int32_t> dense(10, 3);
  for (const auto verb : {sparseAllreduce, gtopkAllreduce})
    CHECK(verb(dense.data(), dense.data(), 10, SPARSECOLL_ALL, sparsecollInt32, sparsecollSum,
               nullptr, comm, nullptr) == sparsecollInvalidArgument);
  CHECK(std::string(sparsecollGetLastError(comm)).find("got sparsecollInt32 (2)") !=
        std::string::npos);
  CHECK(sparsecollScatter(send.get(), dense.data(), comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollTopk(dense.data(), 10, 2, sparsecollInt32, nullptr, recv.get(), comm, nullptr) ==
        sparsecollInvalidArgument);
  CHECK(dense == std::vector<std::int32_t>(10, 3));
}

}  // namespace
}  // namespace sparsecoll::test
