// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How communicators come to be, and what they tell of themselves.

#include <algorithm>
#include <cstring>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

/// Of identifiers that were given out; null until the first rank says how many there are.
std::map<size_t, std::shared_ptr<Clique>>& cliques() {
  static auto& all = *new std::map<size_t, std::shared_ptr<Clique>>;
  return all;
}

constexpr char kWord[] = "nccl stand-in";

size_t number_of(const ncclUniqueId& id) {
  size_t number = 0;
  std::memcpy(&number, id.internal + sizeof kWord, sizeof number);
  if (std::memcmp(id.internal, kWord, sizeof kWord) != 0 || !cliques().contains(number))
    simt::stop("ncclCommInitRank: an id that ncclGetUniqueId did not give");
  return number;
}

bool is_sound(const ncclConfig_t& config) {
  return config.size == sizeof config && config.magic == 0xcafebeef &&
         (config.blocking == 0 || config.blocking == 1 || config.blocking == NCCL_CONFIG_UNDEF_INT);
}

Job make_init(ncclComm_t comm) {
  return {comm, [comm] { return comm->clique->is_complete(); },
          [comm] {
            comm->initialised = true;
            return ncclSuccess;
          }};
}

}  // namespace

bool Clique::is_complete() const {
  return std::find(ranks.begin(), ranks.end(), nullptr) == ranks.end();
}

std::vector<ncclComm_t>& communicators_ever() {
  static auto& all = *new std::vector<ncclComm_t>;
  return all;
}

ncclComm_t make_communicator(std::shared_ptr<Clique> clique, int rank, int device, bool blocking) {
  ncclComm_t& place = clique->ranks[static_cast<size_t>(rank)];
  if (place) simt::stop("ncclCommInitRank: a rank that there is already");
  place = new ncclComm{std::move(clique), rank, device, blocking};
  communicators_ever().push_back(place);
  simt::note_change();
  return place;
}

ncclResult_t check(ncclComm_t comm) {
  if (!comm) return fail(ncclInvalidArgument, "the communicator is null");
  const auto& all = communicators_ever();
  if (std::find(all.begin(), all.end(), comm) == all.end())
    simt::stop("nccl: what is no communicator is used");
  if (comm->gone) simt::stop("nccl: a communicator is used after its end");
  return ncclSuccess;
}

ncclResult_t check_ready(ncclComm_t comm) {
  if (const ncclResult_t result = check(comm); result != ncclSuccess) return result;
  if (comm->broken) return fail(ncclRemoteError, "the rank was broken");
  if (comm->error != ncclSuccess) return fail(comm->error, "what was in progress has failed");
  if (comm->initialised && comm->pending.empty()) return ncclSuccess;
  return fail(ncclInvalidArgument, "the communicator is used while a call of it is in progress");
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (fails()) return told_to_fail();
  if (!id) return fail(ncclInvalidArgument, "uniqueId is null");
  const Lock lock(simt::mutex);
  const size_t number = cliques().size() + 1;
  cliques()[number] = nullptr;
  *id = {};
  std::memcpy(id->internal, kWord, sizeof kWord);
  std::memcpy(id->internal + sizeof kWord, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return ncclCommInitRankConfig(comm, nranks, id, rank, &config);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (fails()) return told_to_fail();
  if (!comm) return fail(ncclInvalidArgument, "comm is null");
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return fail(ncclInvalidArgument, "a rank that there cannot be");
  if (config && !is_sound(*config)) return fail(ncclInvalidArgument, "a config not initialised");
  Lock lock(simt::mutex);
  simt::used[simt::current] = true;
  if (simt::refuse_unsafe() != cudaSuccess)
    return fail(ncclUnhandledCudaError, "memory is allocated while a stream is captured");
  auto& clique = cliques()[number_of(id)];
  if (!clique) clique = std::make_shared<Clique>(nranks);
  if (clique->size != nranks) simt::stop("ncclCommInitRank: ranks that disagree how many they are");
  *comm = make_communicator(clique, rank, simt::current, !config || config->blocking != 0);
  return do_or_defer(lock, make_init(*comm));
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  if (fails()) return told_to_fail();
  if (!comms || ndev < 1) return fail(ncclInvalidArgument, "no communicators are asked for");
  for (int r = 0; r < ndev; ++r)
    if (devices ? devices[r] < 0 || devices[r] >= simt::kDevices : r >= simt::kDevices)
      return fail(ncclInvalidArgument, "a device that there is not");
  const Lock lock(simt::mutex);
  const auto clique = std::make_shared<Clique>(ndev);
  for (int r = 0; r < ndev; ++r) {
    const int device = devices ? devices[r] : r;
    simt::used[device] = true;
    comms[r] = make_communicator(clique, r, device, true);
    comms[r]->initialised = true;
  }
  return ncclSuccess;
}

namespace {

ncclResult_t tell(ncclComm_t comm, int* to, int ncclComm::*what) {
  if (fails()) return told_to_fail();
  const Lock lock(simt::mutex);
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (!to) return fail(ncclInvalidArgument, "nowhere to write to");
  *to = comm->*what;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return tell(comm, device, &ncclComm::device);
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return tell(comm, rank, &ncclComm::rank);
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  int rank = 0;
  const ncclResult_t result = tell(comm, count ? &rank : nullptr, &ncclComm::rank);
  if (result == ncclSuccess) *count = comm->clique->size;
  return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (fails()) return told_to_fail();
  const Lock lock(simt::mutex);
  if (const ncclResult_t result = check(comm); result != ncclSuccess) return result;
  if (!state) return fail(ncclInvalidArgument, "asyncError is null");
  const auto is_ready = [](const Job& job) { return job.is_ready(); };
  if (comm->polls_left > 0) {
    --comm->polls_left;
  } else if (!comm->broken && std::all_of(comm->pending.begin(), comm->pending.end(), is_ready)) {
    for (const Job& job : std::exchange(comm->pending, {}))
      if (const ncclResult_t result = job.finish(); result != ncclSuccess) comm->error = result;
  }
  *state = comm->broken                                 ? ncclRemoteError
           : comm->pending.empty() && comm->initialised ? comm->error
                                                        : ncclInProgress;
  return ncclSuccess;
}
