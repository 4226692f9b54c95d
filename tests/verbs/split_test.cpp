// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparsecollCommSplit between threads.

#include <atomic>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

/// Sums 2^rank over the ranks of `comm`: which ranks of the whole are in it.
std::string members_of(sparsecollComm_t comm, int rank_in_whole, unsigned& members) {
  const std::vector<float> send(1, static_cast<float>(1u << rank_in_whole));
  std::vector<float> recv(1);
  const sparsecollResult_t result =
      call_dense_verb(Verb::kSparse, DenseCall<float>{send.data(), recv.data(), 1, 1}, comm);
  if (result != sparsecollSuccess) return explain(result, comm);
  members = static_cast<unsigned>(recv[0]);
  return "";
}

struct SplitArguments {
  int color;
  int key;
};

/// Returns the ranks as MPI_Comm_split orders them: those of one color by key, then by rank.
std::vector<int> expected_members(int color, const std::vector<SplitArguments>& arguments_of) {
  std::vector<int> members;
  for (int turn = 0; turn < static_cast<int>(arguments_of.size()); ++turn) {
    int best = -1;
    for (int r = 0; r < static_cast<int>(arguments_of.size()); ++r) {
      const SplitArguments& arguments = arguments_of[static_cast<std::size_t>(r)];
      bool taken = false;
      for (const int member : members) taken = taken || member == r;
      if (arguments.color != color || taken) continue;
      if (best < 0 || arguments.key < arguments_of[static_cast<std::size_t>(best)].key) best = r;
    }
    if (best >= 0) members.push_back(best);
  }
  return members;
}

std::string check_child(sparsecollComm_t child, int rank,
                        const std::vector<SplitArguments>& arguments_of) {
  const SplitArguments& own = arguments_of[static_cast<std::size_t>(rank)];
  if (own.color == SPARSECOLL_SPLIT_NOCOLOR)
    return child == nullptr ? "" : "a communicator without a color";
  const std::vector<int> want = expected_members(own.color, arguments_of);
  int new_rank = -1, size = -1;
  sparsecollCommRank(child, &new_rank);
  sparsecollCommCount(child, &size);
  if (size != static_cast<int>(want.size())) return "wrong size";
  if (want[static_cast<std::size_t>(new_rank)] != rank) return "wrong order";
  unsigned members = 0, wanted = 0;
  for (const int member : want) wanted |= 1u << member;
  const std::string verdict = members_of(child, rank, members);
  if (!verdict.empty()) return verdict;
  return members == wanted ? "" : "wrong members";
}

TEST_CASE("split: colors, keys, no color, children of children") {
  for (const int P : rank_counts()) {
    for (unsigned way = 0; way < 4; ++way) {
      std::vector<SplitArguments> arguments_of;
      for (int r = 0; r < P; ++r) {
        const auto h = static_cast<int>(noise(way, static_cast<std::uint64_t>(r)) % 1000);
        if (way == 0) arguments_of.push_back({0, 0});
        if (way == 1) arguments_of.push_back({r % 2, -r});
        if (way == 2)
          arguments_of.push_back({h % 3 == 0 ? SPARSECOLL_SPLIT_NOCOLOR : h % 3, h / 3 % 4});
        if (way == 3) arguments_of.push_back({r, 7});
      }
      const Ranks ranks(P, default_config());
      INFO("P=" << P << " way " << way);
      CHECK(ranks.run("split", [&](int rank) {
        const SplitArguments& own = arguments_of[static_cast<std::size_t>(rank)];
        sparsecollComm_t child = nullptr, grandchild = nullptr;
        const sparsecollResult_t result =
            sparsecollCommSplit(ranks.comm(rank), own.color, own.key, &child, nullptr);
        if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
        std::string verdict = check_child(child, rank, arguments_of);
        if (!verdict.empty() || child == nullptr) return verdict;
        if (sparsecollCommSplit(child, 5, 0, &grandchild, nullptr) != sparsecollSuccess)
          return std::string("the child does not split");
        if (sparsecollCommDestroy(child) != sparsecollSuccess) return std::string("destroy");
        verdict = check_child(grandchild, rank, arguments_of);
        if (sparsecollCommDestroy(grandchild) != sparsecollSuccess) return std::string("destroy");
        return verdict;
      }) == "");
    }
  }
}

TEST_CASE("split: the configuration is the parent's, or given and agreed on by color") {
  sparsecollConfig_t config = default_config();
  config.algorithm = sparsecollAlgoDense;
  const Ranks ranks(4, config);
  CHECK(ranks.run("configuration", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const float x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    float y[8] = {};
    sparsecollComm_t child = nullptr;
    std::string verdict = expect("inherit", sparsecollCommSplit(comm, 0, 0, &child, nullptr),
                                 sparsecollSuccess, comm);
    if (!verdict.empty()) return verdict;
    // Dense delivers everything, whatever k is.
    call_dense_verb(Verb::kSparse, DenseCall<float>{x, y, 8, 1}, child);
    if (y[7] != 4.0f) verdict += "not the parent's algorithm; ";
    sparsecollCommDestroy(child);

    sparsecollConfig_t other = default_config();
    other.repartitionInterval = rank == 3 ? 5 : 6;  // rank 3 disagrees with rank 2
    child = nullptr;
    const sparsecollResult_t got = sparsecollCommSplit(comm, rank / 2, 0, &child, &other);
    verdict += expect("other", got, rank < 2 ? sparsecollSuccess : sparsecollInvalidUsage, comm);
    if (rank < 2) {
      call_dense_verb(Verb::kSparse, DenseCall<float>{x, y, 8, 1}, child);
      if (y[0] != 2.0f || y[7] != 0.0f) verdict += "not the given algorithm; ";
      sparsecollCommDestroy(child);
    }
    other.magic = rank == 0 ? 1 : other.magic;
    verdict += expect("bad configuration", sparsecollCommSplit(comm, 0, 0, &child, &other),
                      rank == 0 ? sparsecollInvalidArgument : sparsecollInvalidUsage, comm);
    verdict +=
        expect("bad color", sparsecollCommSplit(comm, rank == 1 ? -7 : 0, 0, &child, nullptr),
               rank == 1 ? sparsecollInvalidArgument : sparsecollInvalidUsage, comm);
    verdict +=
        expect("no pointer", sparsecollCommSplit(comm, 0, 0, rank == 2 ? nullptr : &child, nullptr),
               rank == 2 ? sparsecollInvalidArgument : sparsecollInvalidUsage, comm);
    return verdict + expect("the parent goes on",
                            call_dense_verb(Verb::kSparse, DenseCall<float>{x, y, 8, 1}, comm),
                            sparsecollSuccess, comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
