// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Communicators that are split from others.

#include <algorithm>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

/// Makes the communicators of all colors, when all ranks have called.
void make_all(const Clique& parent, Split& split) {
  std::map<int, std::vector<int>> ranks_of;
  for (const auto& [rank, own] : split.ranks)
    if (own.color != NCCL_SPLIT_NOCOLOR) ranks_of[own.color].push_back(rank);
  for (auto& [color, ranks] : ranks_of) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](int a, int b) { return split.ranks.at(a).key < split.ranks.at(b).key; });
    const auto clique = std::make_shared<Clique>(static_cast<int>(ranks.size()));
    for (size_t r = 0; r < ranks.size(); ++r) {
      const int device = parent.ranks[static_cast<size_t>(ranks[r])]->device;
      const bool blocking = split.ranks.at(ranks[r]).blocking;
      split.made[ranks[r]] = make_communicator(clique, static_cast<int>(r), device, blocking);
      split.made[ranks[r]]->initialised = true;
    }
  }
  split.is_complete = true;
  for (const ncclComm_t comm : parent.ranks)
    if (comm->aborted) end_children(comm);
}

PendingCall make_split_call(ncclComm_t comm, Split& split, ncclComm_t* to) {
  const auto is_ready = [comm, &split] {
    return split.ranks.size() == static_cast<size_t>(comm->clique->size);
  };
  const auto finish = [comm, &split, to] {
    if (!split.is_complete) make_all(*comm->clique, split);
    if (const auto made = split.made.extract(comm->rank)) *to = made.mapped();
    return ncclSuccess;
  };
  return {comm, is_ready, finish};
}

}  // namespace

void end_children(ncclComm_t comm) {
  for (auto& [number, split] : comm->clique->splits)
    if (const auto made = split.made.extract(comm->rank))
      made.mapped()->aborted = made.mapped()->gone = true;
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* to,
                           ncclConfig_t* config) {
  if (must_fail()) return injected_failure();
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (comm->finalized) return fail(ncclInvalidUsage, "the communicator is finalized");
  if (!to || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return fail(ncclInvalidArgument, "bad color, or a null pointer for the new communicator");
  if (simt::refuse_unsafe() != cudaSuccess)
    return fail(ncclUnhandledCudaError, "memory is allocated while a stream is captured");
  if (!is_idle(comm)) simt::stop("ncclCommSplit while groups of the communicator are not done");
  const bool undefined = !config || config->blocking == NCCL_CONFIG_UNDEF_INT;
  const bool blocking = undefined ? comm->blocking : config->blocking != 0;
  *to = nullptr;  // until all ranks have called
  Split& split = comm->clique->splits[comm->splits++];
  split.ranks[comm->rank] = {color, key, blocking};
  simt::note_change();
  return do_or_defer(lock, make_split_call(comm, split, to));
}
