// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Communicators that are split from others, or shrunk.

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
    if (comm && comm->aborted) end_children(comm);
}

PendingCall make_split_call(ncclComm_t comm, Split& split, ncclComm_t* to) {
  const auto is_ready = [&split] { return split.ranks.size() == split.awaited; };
  const auto finish = [comm, &split, to] {
    if (!split.is_complete) make_all(*comm->clique, split);
    if (const auto made = split.made.extract(comm->rank)) *to = made.mapped();
    return ncclSuccess;
  };
  return {comm, is_ready, finish};
}

}  // namespace

void end_children(ncclComm_t comm) {
  const auto end_child = [comm](Split& split) {
    if (const auto made = split.made.extract(comm->rank))
      made.mapped()->aborted = made.mapped()->gone = true;
  };
  for (auto& [number, split] : comm->clique->splits) end_child(split);
  for (auto& [list, shrink] : comm->clique->shrinks) end_child(shrink);
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

namespace {

/// Returns an error unless a rank can begin to make a new communicator of this one. Ends the
/// program with the message `not_done` if groups of it are not done.
ncclResult_t check_parent(ncclComm_t comm, const char* not_done) {
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (comm->finalized) return fail(ncclInvalidUsage, "the communicator is finalized");
  if (simt::refuse_unsafe() != cudaSuccess)
    return fail(ncclUnhandledCudaError, "memory is allocated while a stream is captured");
  if (!is_idle(comm)) simt::stop(not_done);
  return ncclSuccess;
}

/// Makes this rank's part of a split or shrink.
ncclResult_t join(Lock& lock, ncclComm_t comm, Split& split, const SplitOfRank& own,
                  ncclComm_t* to) {
  *to = nullptr;  // until all ranks have called
  split.ranks[comm->rank] = own;
  simt::note_change();
  return do_or_defer(lock, make_split_call(comm, split, to));
}

bool becomes_blocking(ncclComm_t comm, const ncclConfig_t* config) {
  const bool undefined = !config || config->blocking == NCCL_CONFIG_UNDEF_INT;
  return undefined ? comm->blocking : config->blocking != 0;
}

}  // namespace

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* to,
                           ncclConfig_t* config) {
  if (must_fail()) return injected_failure();
  Lock lock(simt::mutex);
  if (const ncclResult_t result =
          check_parent(comm, "ncclCommSplit while groups of the communicator are not done");
      result != ncclSuccess)
    return result;
  if (!to || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return fail(ncclInvalidArgument, "bad color, or a null pointer for the new communicator");
  Split& split = comm->clique->splits[comm->splits++];
  split.awaited = static_cast<size_t>(comm->clique->size);
  return join(lock, comm, split, {color, key, becomes_blocking(comm, config)}, to);
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* to,
                            ncclConfig_t* config, int flags) {
  if (must_fail()) return injected_failure();
  Lock lock(simt::mutex);
  if (const ncclResult_t result =
          check_parent(comm, "ncclCommShrink while groups of the communicator are not done");
      result != ncclSuccess)
    return result;
  if (!to || !excluded || count < 1)
    return fail(ncclInvalidArgument, "no ranks to exclude, or a null pointer");
  if (flags != NCCL_SHRINK_DEFAULT)
    return fail(ncclInvalidArgument, "the stand-in only shrinks what has no operations");
  std::vector<int> list(excluded, excluded + count);
  std::sort(list.begin(), list.end());
  if (std::binary_search(list.begin(), list.end(), comm->rank))
    return fail(ncclInvalidArgument, "a rank that is excluded calls");
  Split& shrink = comm->clique->shrinks[{list, comm->shrinks[list]++}];
  shrink.awaited = static_cast<size_t>(comm->clique->size - count);
  return join(lock, comm, shrink, {0, comm->rank, becomes_blocking(comm, config)}, to);
}
