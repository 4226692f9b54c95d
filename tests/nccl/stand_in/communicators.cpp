// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Initialises communicators, and returns their properties and state.

#include <algorithm>
#include <cstring>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

/// Returns the cliques by the numbers in their ids. A clique is null until its first rank has
/// called ncclCommInitRank() with the number of ranks.
std::map<size_t, std::shared_ptr<Clique>>& cliques() {
  static auto& all = *new std::map<size_t, std::shared_ptr<Clique>>;
  return all;
}

constexpr char kMagic[] = "nccl stand-in";

size_t number_of(const ncclUniqueId& id) {
  size_t number = 0;
  std::memcpy(&number, id.internal + sizeof kMagic, sizeof number);
  if (std::memcmp(id.internal, kMagic, sizeof kMagic) != 0 || !cliques().contains(number))
    simt::stop("ncclCommInitRank: ncclGetUniqueId has not returned this id");
  return number;
}

bool is_sound(const ncclConfig_t& config) {
  return config.size == sizeof config && config.magic == 0xcafebeef &&
         (config.blocking == 0 || config.blocking == 1 || config.blocking == NCCL_CONFIG_UNDEF_INT);
}

PendingCall make_init_call(ncclComm_t comm) {
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
  ncclComm_t& slot = clique->ranks[static_cast<size_t>(rank)];
  if (slot) simt::stop("ncclCommInitRank: the rank exists already");
  slot = new ncclComm{std::move(clique), rank, device, blocking};
  communicators_ever().push_back(slot);
  simt::note_change();
  return slot;
}

ncclResult_t check(ncclComm_t comm) {
  if (!comm) return fail(ncclInvalidArgument, "the communicator is null");
  const auto& all = communicators_ever();
  if (std::find(all.begin(), all.end(), comm) == all.end())
    simt::stop("nccl: a pointer that is no communicator is used");
  if (comm->gone) simt::stop("nccl: a communicator is used after its end");
  return ncclSuccess;
}

ncclResult_t check_ready(ncclComm_t comm) {
  if (const ncclResult_t result = check(comm); result != ncclSuccess) return result;
  if (comm->broken) return fail(ncclRemoteError, "the rank was broken");
  if (comm->error != ncclSuccess) return fail(comm->error, "an operation in progress has failed");
  if (comm->initialised && comm->pending.empty()) return ncclSuccess;
  return fail(ncclInvalidArgument, "the communicator is used while a call of it is in progress");
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (must_fail()) return injected_failure();
  if (!id) return fail(ncclInvalidArgument, "uniqueId is null");
  const Lock lock(simt::mutex);
  const size_t number = cliques().size() + 1;
  cliques()[number] = nullptr;
  *id = {};
  std::memcpy(id->internal, kMagic, sizeof kMagic);
  std::memcpy(id->internal + sizeof kMagic, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return ncclCommInitRankConfig(comm, nranks, id, rank, &config);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (must_fail()) return injected_failure();
  if (!comm) return fail(ncclInvalidArgument, "comm is null");
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return fail(ncclInvalidArgument, "bad rank or number of ranks");
  if (config && !is_sound(*config))
    return fail(ncclInvalidArgument, "the config is not initialised");
  Lock lock(simt::mutex);
  simt::used[simt::current] = true;
  if (simt::refuse_unsafe() != cudaSuccess)
    return fail(ncclUnhandledCudaError, "memory is allocated while a stream is captured");
  auto& clique = cliques()[number_of(id)];
  if (!clique) clique = std::make_shared<Clique>(nranks);
  if (clique->size != nranks) simt::stop("ncclCommInitRank: the ranks disagree on their number");
  *comm = make_communicator(clique, rank, simt::current, !config || config->blocking != 0);
  return do_or_defer(lock, make_init_call(*comm));
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  if (must_fail()) return injected_failure();
  if (!comms || ndev < 1) return fail(ncclInvalidArgument, "no communicators, or a null pointer");
  for (int r = 0; r < ndev; ++r)
    if (devices ? devices[r] < 0 || devices[r] >= simt::kDevices : r >= simt::kDevices)
      return fail(ncclInvalidArgument, "no such device");
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

ncclResult_t query(ncclComm_t comm, int* value, int ncclComm::*member) {
  if (must_fail()) return injected_failure();
  const Lock lock(simt::mutex);
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (!value) return fail(ncclInvalidArgument, "the pointer to the result is null");
  *value = comm->*member;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return query(comm, device, &ncclComm::device);
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return query(comm, rank, &ncclComm::rank);
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  int rank = 0;
  const ncclResult_t result = query(comm, count ? &rank : nullptr, &ncclComm::rank);
  if (result == ncclSuccess) *count = comm->clique->size;
  return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (must_fail()) return injected_failure();
  const Lock lock(simt::mutex);
  if (const ncclResult_t result = check(comm); result != ncclSuccess) return result;
  if (!state) return fail(ncclInvalidArgument, "asyncError is null");
  const auto is_ready = [](const PendingCall& call) { return call.is_ready(); };
  if (comm->polls_left > 0) {
    --comm->polls_left;
  } else if (!comm->broken && std::all_of(comm->pending.begin(), comm->pending.end(), is_ready)) {
    for (const PendingCall& call : std::exchange(comm->pending, {}))
      if (const ncclResult_t result = call.finish(); result != ncclSuccess) comm->error = result;
  }
  *state = comm->broken                                 ? ncclRemoteError
           : comm->pending.empty() && comm->initialised ? comm->error
                                                        : ncclInProgress;
  return ncclSuccess;
}
