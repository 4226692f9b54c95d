// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of blocks, compared with the oracles of single values: an exact sum of blocks is that of
// their values, and a selection takes all values of a block.

#include <cstddef>
#include <map>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

// Programs that were compiled without blocks have zeros there.
struct WithoutBlocks {
  std::size_t size, count, nnz, capacity, needed;
  void *indices, *values;
  int indexType, datatype;
  std::size_t* nnzOnDevice;
  void* reserved[4];
};
static_assert(sizeof(sparsecollSparse_t) == sizeof(WithoutBlocks));
static_assert(offsetof(sparsecollSparse_t, nnzOnDevice) == offsetof(WithoutBlocks, nnzOnDevice));
static_assert(offsetof(sparsecollSparse_t, blockSize) == offsetof(WithoutBlocks, reserved));

void sweep_all(const Mode& mode) {
  for (const int P : rank_counts()) CHECK(block_sweep(mode, P) == "");
}

TEST_CASE("blocks, Auto: sums and selections are their definitions") { sweep_all(kAuto); }
TEST_CASE("blocks, Allgather: sums and selections are their definitions") { sweep_all(kAllgather); }
TEST_CASE("blocks, Oktopk: sums and selections are their definitions") { sweep_all(kOktopk); }
TEST_CASE("blocks, Hierarchical: sums and selections are their definitions") {
  sweep_all(kHierarchical);
}
TEST_CASE("blocks, gtopkAllreducev: sums and selections are their definitions") {
  sweep_all(kGtopk);
}

TEST_CASE("blocks of rounded values: sums and selections are their definitions") {
  for (const Mode& mode : kRoundingModes) {
    if (!has_coordinate_form(mode)) continue;
    for (const int P : {1, 2, 3, 5, 8}) {
      const Ranks ranks(P, config_of(mode));
      for (const SparseCase& c : block_cases_of(mode, P, small_run() ? 12 : 3))
        CHECK(run_case(ranks, c) == "");
    }
  }
}

TEST_CASE("blocks with values that are not finite leave the residuals, if asked to") {
  for (const Mode& each : {kOktopk, kGtopk}) {
    const Mode mode = over_bf16(skipping(each), "skipping, bf16");
    const Ranks ranks(3, config_of(mode));
    for (const SparseKind kind : {SparseKind::kHeavyTail, SparseKind::kNotFinite}) {
      SparseCase c{base_seed(), mode, 100, SPARSECOLL_ALL, kind};
      c.block = 7;
      c.feedback = true;
      c.calls = 3;
      CHECK(run_case(ranks, c) == "");
      c.type = sparsecollFloat64;
      CHECK(run_case(ranks, c) == "");
    }
  }
}

/// Returns the sum of integers modulo 2^64, converted to T.
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
std::string check_integers(const Ranks& ranks, const Mode& mode, std::size_t block) {
  constexpr std::uint64_t kCount = 400;
  const auto sends =
      make_sparse_of_all<T>(SparseKind::kRandom, kCount, ranks.size(), base_seed(), block);
  const oracle::Sparse<T> want = wrapping_sum(sends);
  return ranks.run("integers", [&](int rank) {
    const SparseBuffer<T> send(kCount, sparsecollIndex32, sends[static_cast<std::size_t>(rank)],
                               block);
    SparseBuffer<T> recv(0, sparsecollIndex32, want.size() / block, block);
    const sparsecollComm_t comm = ranks.comm(rank);
    const sparsecollResult_t result =
        call_sparse_verb(mode.verb, {send.get(), recv.get(), SPARSECOLL_ALL}, comm);
    return expect("the verb", result, sparsecollSuccess, comm) +
           difference("recv", recv.entries(), want);
  });
}

TEST_CASE("blocks of integers are added up, wrapping") {
  for (const Mode& mode : kTopkModes) {
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_of(mode));
      CHECK(check_integers<std::int32_t>(ranks, mode, 6) == "");
      CHECK(check_integers<std::int64_t>(ranks, mode, 3) == "");
    }
  }
}

TEST_CASE("a sum of blocks that does not fit can be fetched") {
  constexpr std::uint64_t kCount = 300;
  constexpr std::size_t kBlock = 5;
  const Ranks ranks(3, default_config());
  oracle::SparseInputs<float> in;
  in.sends = make_sparse_of_all<float>(SparseKind::kRandom, kCount, 3, base_seed(), kBlock);
  const auto want = expected(kAuto, in, SPARSECOLL_ALL, oracle::Op::kSum).result;
  const std::size_t blocks = want.size() / kBlock;
  CHECK(ranks.run("truncated", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const SparseBuffer<float> send(kCount, sparsecollIndex32,
                                   in.sends[static_cast<std::size_t>(rank)], kBlock);
    SparseBuffer<float> recv(0, sparsecollIndex32, blocks - 1, kBlock),
        other(0, sparsecollIndex32, blocks, kBlock + 1),
        whole(0, sparsecollIndex32, blocks, kBlock);
    const SparseCall call{send.get(), recv.get(), SPARSECOLL_ALL};
    std::string verdict =
        expect("the verb", call_sparse_verb(Verb::kSparse, call, comm), sparsecollTruncated, comm);
    if (recv.get()->needed != blocks) verdict += "needed is wrong";
    verdict +=
        expect("blocks of another size", sparsecollFetch(other.get(), nullptr, comm, nullptr),
               sparsecollInvalidArgument, comm);
    verdict += expect("sparsecollFetch", sparsecollFetch(whole.get(), nullptr, comm, nullptr),
                      sparsecollSuccess, comm);
    return verdict + difference("fetched", whole.entries(), want);
  }) == "");
}

TEST_CASE("a group has calls with blocks and without") {
  constexpr std::uint64_t kCount = 200;
  const std::size_t sizes[] = {1, 4, 64, 1, 4};
  for (const Mode& mode : {kAuto, kGtopk, kAllgather}) {
    for (const int P : {1, 2, 3, 5}) {
      const Ranks ranks(P, config_of(mode));
      std::vector<oracle::SparseInputs<float>> in(std::size(sizes));
      for (std::size_t t = 0; t < std::size(sizes); ++t)
        in[t].sends = make_sparse_of_all<float>(SparseKind::kEmptyOnSome, kCount, P,
                                                base_seed() + t, sizes[t]);
      CHECK(ranks.run("a group", [&](int rank) {
        const sparsecollComm_t comm = ranks.comm(rank);
        std::vector<SparseBuffer<float>> sends, recvs;
        std::vector<oracle::Sparse<float>> want;
        for (std::size_t t = 0; t < std::size(sizes); ++t) {
          want.push_back(expected(mode, in[t], SPARSECOLL_ALL, oracle::Op::kSum).result);
          sends.emplace_back(kCount, sparsecollIndex32, in[t].sends[static_cast<std::size_t>(rank)],
                             sizes[t]);
          recvs.emplace_back(0, sparsecollIndex32, want[t].size() / sizes[t], sizes[t]);
        }
        std::string verdict;
        const sparsecollResult_t result = in_group(comm, [&] {
          for (std::size_t t = 0; t < std::size(sizes); ++t) {
            const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
            verdict += expect("the verb",
                              verb(sends[t].get(), recvs[t].get(), SPARSECOLL_ALL, sparsecollSum,
                                   nullptr, comm, nullptr),
                              sparsecollSuccess, comm);
          }
        });
        verdict += expect("the group", result, sparsecollSuccess, comm);
        for (std::size_t t = 0; t < std::size(sizes); ++t)
          verdict += difference("recv", recvs[t].entries(), want[t]);
        return verdict;
      }) == "");
    }
  }
}

/// Scatters the blocks of a region, or all of them.
template <class T>
std::string check_scatter(sparsecollComm_t comm, SparseKind kind, int index_type, std::size_t block,
                          bool part) {
  constexpr std::size_t kCount = 300;
  const std::size_t begin = part ? 70 : 0, end = part ? 211 : kCount;
  oracle::Sparse<T> within;
  const auto all = make_sparse_of_all<T>(kind, kCount, 2, base_seed(), block);
  for (const auto& entry : all[1])
    if (entry.index >= begin * block && entry.index < end * block) within.push_back(entry);
  const auto whole = oracle::Oracle<T>::scatter(within, kCount * block);
  const auto at = [&](std::size_t i) { return whole.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<T> want(at(begin * block), at(end * block));
  want.push_back(static_cast<T>(-5));
  std::vector<T> dense(want.size(), static_cast<T>(-5));
  const SparseBuffer<T> in(kCount, index_type, within, block);
  const sparsecollResult_t result =
      part ? sparsecollScatterAt(in.get(), dense.data(), begin, end - begin, comm, nullptr)
           : sparsecollScatter(in.get(), dense.data(), comm, nullptr);
  return expect("the scatter", settle(result, comm), sparsecollSuccess, comm) +
         difference("dense", dense, want);
}

TEST_CASE("blocks are scattered as their values are") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  for (const SparseKind kind : kAllSparseKinds) {
    for (const int index_type : {sparsecollIndex32, sparsecollIndex64}) {
      for (const std::size_t block : {2, 3, 64}) {
        for (const bool part : {false, true}) {
          INFO(name_of(kind) << ", blocks of " << block);
          CHECK(check_scatter<float>(comm, kind, index_type, block, part) == "");
          CHECK(check_scatter<double>(comm, kind, index_type, block, part) == "");
          CHECK(check_scatter<oracle::Float16>(comm, kind, index_type, block, part) == "");
          CHECK(check_scatter<oracle::Bfloat16>(comm, kind, index_type, block, part) == "");
        }
      }
    }
  }
}

/// Makes the call with an input and an output of blocks of these sizes.
sparsecollResult_t call_with(std::size_t in_block, std::size_t out_block, std::size_t k,
                             sparsecollComm_t comm, Verb verb = Verb::kSparse) {
  SparseBuffer<float> send(100, sparsecollIndex32, 4, 8), recv(100, sparsecollIndex32, 4, 8);
  send.get()->blockSize = in_block;
  recv.get()->blockSize = out_block;
  return call_sparse_verb(verb, {send.get(), recv.get(), k}, comm);
}

std::string refused(sparsecollResult_t result, sparsecollResult_t want, const std::string& why,
                    sparsecollComm_t comm) {
  const std::string verdict = expect("the call", result, want, comm);
  if (!verdict.empty()) return verdict;
  const std::string message = sparsecollGetLastError(comm);
  return message.find(why) == std::string::npos ? "no '" + why + "' in: " + message : "";
}

TEST_CASE("ranks with blocks of different sizes get an error, and 0 means 1") {
  for (const Mode& mode : kTopkModes) {
    for (const int P : {2, 3, 5}) {
      const Ranks ranks(P, config_of(mode));
      for (int round = 0; round < 3; ++round) {
        CHECK(ranks.run("equal blocks", [&](int rank) {
          const sparsecollComm_t comm = ranks.comm(rank);
          return expect("8", call_with(8, 8, SPARSECOLL_ALL, comm, mode.verb), sparsecollSuccess,
                        comm) +
                 expect("0 or 1",
                        call_with(rank % 2 == 0 ? 0 : 1, rank % 3 == 0 ? 1 : 0, SPARSECOLL_ALL,
                                  comm, mode.verb),
                        sparsecollSuccess, comm);
        }) == "");
        const int odd = round % P;
        CHECK(ranks.run("different blocks", [&](int rank) {
          const sparsecollComm_t comm = ranks.comm(rank);
          const std::size_t block = rank == odd ? 4 : 8;
          return refused(
              call_with(block, block, SPARSECOLL_ALL, comm, mode.verb), sparsecollInvalidUsage,
              "ranks disagree on blockSize: this rank passed " + std::to_string(block), comm);
        }) == "");
      }
    }
  }
}

TEST_CASE("blocks are refused where they have no meaning") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  constexpr auto kBad = sparsecollInvalidArgument;
  CHECK(refused(call_with(4, 5, SPARSECOLL_ALL, comm), kBad, "recv.blockSize: expected 4, got 5",
                comm) == "");
  CHECK(refused(call_with(1, 5, SPARSECOLL_ALL, comm), kBad, "recv.blockSize: expected 1, got 5",
                comm) == "");
  CHECK(refused(call_with(~std::size_t{0}, 4, SPARSECOLL_ALL, comm), kBad,
                "send.blockSize: expected blocks that fit into memory", comm) == "");
  CHECK(refused(call_with(std::size_t{1} << 59, 4, SPARSECOLL_ALL, comm), kBad, "fits into memory",
                comm) == "");
  SparseBuffer<float> send(100, sparsecollIndex32, 4, 8), recv(100, sparsecollIndex32, 4, 8);
  std::vector<float> dense(800);
  CHECK(refused(sparsecollTopk(dense.data(), 100, 4, sparsecollFloat32,
                               Residual<float>(comm, 100).handle(), recv.get(), comm, nullptr),
                kBad, "residual: expected count 800, got 100", comm) == "");
  const Residual<float> residual(comm, 100);
  const SparseCall call{send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, residual.handle()};
  CHECK(refused(call_sparse_verb(Verb::kSparse, call, comm), kBad,
                "residual: expected count 800, got 100", comm) == "");
  send.get()->count = std::size_t{1} << 62;
  send.get()->indexType = sparsecollIndex64;
  CHECK(refused(sparsecollScatter(send.get(), dense.data(), comm, nullptr), kBad,
                "dense: expected a size that fits into memory", comm) == "");
}

TEST_CASE("selections of blocks are refused where they have no definition") {
  for (const Mode& mode : {kReuse, kGtopkPaper}) {
    const Ranks ranks(1, config_of(mode));
    const sparsecollComm_t comm = ranks.comm(0);
    const char* const field =
        mode.verb == Verb::kGtopk ? "residualRule: expected" : "selection: expected";
    CHECK(refused(call_with(4, 4, 3, comm, mode.verb), sparsecollInvalidArgument, field, comm) ==
          "");
    CHECK(call_with(4, 4, SPARSECOLL_ALL, comm, mode.verb) == sparsecollSuccess);
    CHECK(call_with(1, 1, 3, comm, mode.verb) == sparsecollSuccess);
  }
}

TEST_CASE("statistics count blocks, and the bytes are hardly more than the values'") {
  constexpr std::size_t kBlock = 64, kEntries = 2000;
  constexpr std::uint64_t kCount = 100000;
  for (const Mode& mode : {kOktopk, kAllgather}) {
    const Ranks ranks(4, config_of(mode));
    CHECK(ranks.run("bytes", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      oracle::Sparse<float> entries;  // disjoint
      for (std::uint64_t j = 0; j < kEntries; ++j)
        for (std::uint64_t i = 0; i < kBlock; ++i)
          entries.push_back({(50 * j + static_cast<std::uint64_t>(rank)) * kBlock + i, 1.0f});
      const SparseBuffer<float> send(kCount, sparsecollIndex32, entries, kBlock);
      SparseBuffer<float> recv(0, sparsecollIndex32, 4 * kEntries, kBlock);
      const SparseCall call{send.get(), recv.get(), SPARSECOLL_ALL};
      std::string verdict =
          expect("the verb", call_sparse_verb(mode.verb, call, comm), sparsecollSuccess, comm);
      verdict +=
          expect("the verb", call_sparse_verb(mode.verb, call, comm), sparsecollSuccess, comm);
      sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
      sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
      if (stats.selected != kEntries || stats.result != 4 * kEntries) verdict += "wrong statistics";
      // Each rank sends 3/4 of its blocks to their owners and its region to 3 ranks, or all of its
      // blocks to 3 ranks.
      const double blocks = mode.algorithm == sparsecollAlgoOktopk ? 3.75 * kEntries : 3 * kEntries;
      const double share = static_cast<double>(stats.bytesSent) / (blocks * kBlock * sizeof(float));
      if (share > 1.02) verdict += "bytes over values: " + std::to_string(share);
      return verdict;
    }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
