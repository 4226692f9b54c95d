// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparsecollCommSplit over MPI: which ranks are in which child, children of children,
// destruction in every order, many splits, and a parent and its children that several threads use
// at the same time.

#include <algorithm>

#include "support/config.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;

constexpr int kNone = SPARSECOLL_SPLIT_NOCOLOR;

sparsecollResult_t sum(const std::vector<float>& send, std::vector<float>& recv,
                       sparsecollComm_t comm) {
  return sparseAllreduce(send.data(), recv.data(), send.size(), send.size(), sparsecollFloat32,
                         sparsecollSum, nullptr, comm, nullptr);
}

/// Checks a call of these ranks on their child communicator.
std::string use(sparsecollComm_t child, const std::vector<int>& members) {
  const int own = rank_in(MPI_COMM_WORLD);
  int rank = -1, size = -1;
  sparsecollCommRank(child, &rank);
  sparsecollCommCount(child, &size);
  if (size != static_cast<int>(members.size())) return "wrong size " + std::to_string(size);
  if (members[static_cast<std::size_t>(rank)] != own) return "wrong order";
  const std::vector<float> send(9, static_cast<float>(1 << own));
  std::vector<float> recv(9);
  const sparsecollResult_t result = sum(send, recv, child);
  if (result != sparsecollSuccess) return explain(result, child);
  float want = 0;
  for (const int member : members) want += static_cast<float>(1 << member);
  return recv == std::vector<float>(9, want) ? "" : "wrong members";
}

std::vector<int> every(int step, int first) {
  std::vector<int> ranks;
  for (int r = first; r < size_of(MPI_COMM_WORLD); r += step) ranks.push_back(r);
  return ranks;
}

/// Splits and returns the new communicator, or none. The caller destroys it.
sparsecollComm_t split(Verdict& verdict, sparsecollComm_t parent, int color, int key) {
  sparsecollComm_t child = nullptr;
  verdict.check("split", expect("split", sparsecollCommSplit(parent, color, key, &child, nullptr),
                                sparsecollSuccess, parent));
  verdict.require("a child for a color", (child != nullptr) == (color != kNone));
  return child;
}

void end(Verdict& verdict, sparsecollComm_t comm) {
  if (comm == nullptr) return;
  verdict.check("destroy",
                expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr));
}

void check_members(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  const MpiCommunicator parent(MPI_COMM_WORLD, default_config());
  // The splits are: all ranks in reverse order, odd and even ranks, all but rank 0, and each rank
  // alone.
  const sparsecollComm_t reversed = split(verdict, parent.get(), 3, P - rank);
  std::vector<int> members = every(1, 0);
  std::reverse(members.begin(), members.end());
  verdict.check("reversed", use(reversed, members));
  const sparsecollComm_t parity = split(verdict, parent.get(), rank % 2, 0);
  verdict.check("parity", use(parity, every(2, rank % 2)));
  const sparsecollComm_t most = split(verdict, parent.get(), rank == 0 ? kNone : 0, 0);
  if (most != nullptr) verdict.check("all but one", use(most, every(1, 1)));
  const sparsecollComm_t alone = split(verdict, parent.get(), rank, 0);
  verdict.check("alone", use(alone, {rank}));
  // These children of children are made on ranks that have made different numbers of children, some
  // at the same time.
  const sparsecollComm_t inner = split(verdict, parity, rank < 2 ? kNone : 1, 0);
  if (inner != nullptr) verdict.check("inner", use(inner, every(2, 2 + rank % 2)));
  const sparsecollComm_t again = split(verdict, reversed, 0, P - rank);
  verdict.check("the order that it had", use(again, members));
  verdict.check("parity, later", use(parity, every(2, rank % 2)));
  verdict.check("the parent, later", use(parent.get(), every(1, 0)));
  for (const sparsecollComm_t each : {reversed, inner, alone, most, again, parity})
    end(verdict, each);
}

/// A parent, its child and the child's child end in one of the six orders. The children of the odd
/// ranks end in another order than those of the even ranks, as far as the parent allows.
void check_order_of_ends(Verdict& verdict, int way) {
  const int rank = rank_in(MPI_COMM_WORLD);
  sparsecollComm_t parent = nullptr;
  verdict.require("init",
                  sparsecollCommInitMpi(&parent, MPI_COMM_WORLD, nullptr) == sparsecollSuccess);
  const bool none = way % 2 == 1 && rank == 0;
  const sparsecollComm_t child = split(verdict, parent, none ? kNone : rank % 2, 0);
  const sparsecollComm_t inner = none ? nullptr : split(verdict, child, 0, 0);
  std::vector<sparsecollComm_t> order{parent, child, inner};
  std::vector<int> turns{0, 1, 2};
  for (int i = 0; i < (way + rank % 2 * 3) % 6; ++i)
    std::next_permutation(turns.begin(), turns.end());
  const std::vector<int> members = every(2, none || way % 2 == 0 || rank % 2 == 1 ? rank % 2 : 2);
  for (const int turn : turns) {
    if (!none && turn != 0)
      verdict.check("before its end", use(order[static_cast<std::size_t>(turn)], members));
    end(verdict, order[static_cast<std::size_t>(turn)]);
  }
}

/// MPI runs out of communicators (MPICH after some 2000) and of tags if they are not given back.
/// The limits do not depend on the number of ranks, so only the run with three ranks reaches them.
void check_many(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  const MpiCommunicator parent(MPI_COMM_WORLD, default_config());
  const int thinning = P == 3 ? 1 : 10;
  for (int round = 0; round < 3000 / thinning; ++round) {
    const sparsecollComm_t child = split(verdict, parent.get(), (rank + round) % 3, round % P);
    if (round % 500 == 0) verdict.check("the parent", use(parent.get(), every(1, 0)));
    end(verdict, child);
  }
  for (int round = 0; round < 2500 / thinning; ++round) {
    sparsecollComm_t old = nullptr;
    verdict.require("init",
                    sparsecollCommInitMpi(&old, MPI_COMM_WORLD, nullptr) == sparsecollSuccess);
    const sparsecollComm_t child = split(verdict, old, rank == 0 ? kNone : 0, 0);
    end(verdict, old);
    if (child != nullptr && round % 500 == 0) verdict.check("the child", use(child, every(1, 1)));
    end(verdict, child);
  }
}

/// Makes calls of a parent and of two children, each in a thread of its own.
void check_threads(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD);
  sparsecollConfig_t config = default_config();
  config.blocking = 0;
  const MpiCommunicator parent(MPI_COMM_WORLD, config);
  const sparsecollComm_t comms[] = {parent.get(), split(verdict, parent.get(), rank % 2, 0),
                                    split(verdict, parent.get(), 0, -rank)};
  const std::size_t sizes[] = {every(1, 0).size(), every(2, rank % 2).size(), every(1, 0).size()};
  constexpr std::size_t kCalls = 30;
  std::vector<std::vector<float>> sends, recvs;
  for (std::size_t call = 0; call < 3 * kCalls; ++call) {
    sends.emplace_back(call % 3 == 1 ? 50000 : 50, static_cast<float>(call));
    recvs.emplace_back(sends.back().size());
  }
  for (std::size_t call = 0; call < 3 * kCalls; ++call)
    verdict.require("queue", sum(sends[call], recvs[call], comms[call % 3]) == sparsecollSuccess);
  for (const sparsecollComm_t comm : comms)
    verdict.check("calls of several threads",
                  expect("synchronize", sparsecollCommSynchronize(comm), sparsecollSuccess, comm));
  for (std::size_t call = 0; call < 3 * kCalls; ++call)
    verdict.require("sum",
                    recvs[call] == std::vector<float>(sends[call].size(),
                                                      static_cast<float>(call * sizes[call % 3])));
  end(verdict, comms[2]);
  end(verdict, comms[1]);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int code = 0;
  {
    const HangGuard guard("mpi split", 1);
    Verdict verdict;
    check_members(verdict);
    for (int way = 0; way < 6; ++way) check_order_of_ends(verdict, way);
    if (!verdict.any_failed()) check_many(verdict);
    if (!verdict.any_failed() && level == MPI_THREAD_MULTIPLE) check_threads(verdict);
    code = verdict.report("mpi split");
  }
  MPI_Finalize();
  return code;
}
