// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How communicators of the stand-in begin, wait, fail and end.

#include <atomic>
#include <thread>

#include "kernels/cuda/simt_run.hpp"
#include "nccl/stand_in_ranks.hpp"

namespace sparsecoll::nccl_test {
namespace {

constexpr std::size_t kCount = 10;

ncclUniqueId new_id() {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  return id;
}

TEST_CASE("ranks meet by an id, and know who they are") {
  const ncclUniqueId id = new_id();
  new_id();
  const std::string verdict = test::run_threads("init", 3, [&](int rank) -> std::string {
    check(cudaSetDevice(rank + 1));
    ncclComm_t comm = nullptr;
    check(ncclCommInitRank(&comm, 3, id, rank));
    int size = 0, own = -1, device = -1;
    check(ncclCommCount(comm, &size));
    check(ncclCommUserRank(comm, &own));
    check(ncclCommCuDevice(comm, &device));
    check(ncclCommFinalize(comm));
    const bool refused = ncclCommFinalize(comm) == ncclInvalidUsage &&
                         ncclSend(nullptr, 0, ncclInt8, 0, comm, nullptr) == ncclInvalidUsage;
    check(ncclCommDestroy(comm));
    return size == 3 && own == rank && device == rank + 1 && refused ? "" : "told wrong";
  });
  CHECK(verdict == "");
  int version = 0;
  check(ncclGetVersion(&version));
  CHECK(version == NCCL_VERSION(2, 28, 3));
}

TEST_CASE("one thread makes all ranks in a group, and config is what the initializer makes it") {
  const ncclUniqueId id = new_id();
  ncclComm_t comms[2];
  check(ncclGroupStart());
  for (int rank = 0; rank < 2; ++rank) check(ncclCommInitRank(&comms[rank], 2, id, rank));
  int rank = -1;
  CHECK(ncclCommUserRank(comms[0], &rank) == ncclInvalidArgument);
  check(ncclGroupEnd());
  for (const ncclComm_t comm : comms) check(ncclCommDestroy(comm));
  ncclConfig_t config{};
  CHECK(ncclCommInitRankConfig(comms, 1, new_id(), 0, &config) == ncclInvalidArgument);
  CHECK(ncclCommInitRank(comms, 1, new_id(), 1) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
}

TEST_CASE("without blocking everything is in progress until it is asked for often enough") {
  const ncclUniqueId id = new_id();
  std::atomic<int> called{0};
  const std::string verdict = test::run_threads("not blocking", 2, [&](int rank) -> std::string {
    check(cudaSetDevice(rank));
    ncclConfig_t config = not_blocking();
    ncclComm_t comm = nullptr;
    std::string wrong;
    const auto should = [&](bool right, const char* what) {
      if (!right) wrong += std::string(what) + "; ";
    };
    should(ncclCommInitRankConfig(&comm, 2, id, rank, &config) == ncclInProgress, "init");
    int got = 0;
    should(ncclCommUserRank(comm, &got) == ncclInvalidArgument, "used while in progress");
    should(ncclCommDestroy(comm) == ncclInvalidArgument, "destroyed while in progress");
    should(wait_for(comm) >= 3, "init was done at once");
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    while (rank == 1 && called < 20) std::this_thread::yield();
    const std::size_t before = nccl_stand_in::groups_launched();
    check(ncclGroupStart());
    check(ncclSend(from.get(), kCount, ncclInt32, 1 - rank, comm, stream));
    check(ncclRecv(to.get(), kCount, ncclInt32, 1 - rank, comm, stream));
    should(ncclGroupEnd() == ncclInProgress, "group");
    ncclResult_t state = ncclSuccess;
    for (; rank == 0 && called < 20; ++called) {
      check(ncclCommGetAsyncError(comm, &state));
      should(state == ncclInProgress, "connected without the peer");
      should(nccl_stand_in::groups_launched() == before, "launched without the peer");
      should(cudaStreamQuery(stream) == cudaSuccess, "on the stream without the peer");
    }
    should(ncclSend(nullptr, 0, ncclInt8, 0, comm, stream) == ncclInvalidArgument, "two at once");
    wait_for(comm);
    wrong += test::difference("exchanged", to.read(stream), Values(kCount, 1 - rank));
    should(ncclCommFinalize(comm) == ncclInProgress, "finalize");
    wait_for(comm);
    check(ncclCommDestroy(comm));
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE("a split is by colour and key, and needs all ranks") {
  const Communicators comms(5);
  std::atomic<int> called{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    ncclComm_t part = reinterpret_cast<ncclComm_t>(1);
    while (rank == 4 && called < 4) std::this_thread::yield();
    ++called;
    const int color = rank == 3 ? NCCL_SPLIT_NOCOLOR : rank % 2;
    check(ncclCommSplit(comms[rank], color, -rank, &part, nullptr));
    if (called != 5) return "it did not wait for all";
    if (rank == 3) return part ? "a communicator without a colour" : "";
    int size = 0, own = -1, device = -1;
    check(ncclCommCount(part, &size));
    check(ncclCommUserRank(part, &own));
    check(ncclCommCuDevice(part, &device));
    const bool right =
        rank == 1 ? size == 1 && own == 0 : size == 3 && own == (4 - rank) / 2 && device == rank;
    check(ncclCommDestroy(part));
    return right ? "" : "told wrong";
  });
  CHECK(verdict == "");
  CHECK(nccl_stand_in::communicators() == 5);
}

TEST_CASE("a split of communicators that do not block gives nothing until it is done") {
  const ncclUniqueId id = new_id();
  const std::string verdict = test::run_threads("split", 2, [&](int rank) -> std::string {
    ncclConfig_t config = not_blocking();
    ncclComm_t comm = nullptr, part = nullptr;
    ncclCommInitRankConfig(&comm, 2, id, rank, &config);
    wait_for(comm);
    if (ncclCommSplit(comm, 0, 0, &part, nullptr) != ncclInProgress || part) return "it was done";
    wait_for(comm);
    if (!part) return "it was not done";
    check(ncclCommDestroy(comm));
    // It does not block either.
    if (ncclCommFinalize(part) != ncclInProgress) return "it blocks";
    wait_for(part);
    check(ncclCommDestroy(part));
    return "";
  });
  CHECK(verdict == "");
}

TEST_CASE("a call that is told to fails, and so does its group") {
  const Communicators comms(1);
  const DeviceArray<int> own(kCount);
  const std::size_t before = nccl_stand_in::groups_launched();
  for (const std::size_t n : {1, 2, 3, 4}) {
    nccl_stand_in::fail_at(n);
    CHECK(ncclGroupStart() == (n == 1 ? ncclSystemError : ncclSuccess));
    if (n == 1) continue;
    CHECK(ncclSend(own.get(), 1, ncclInt32, 0, comms[0], nullptr) ==
          (n == 2 ? ncclSystemError : ncclSuccess));
    CHECK(ncclRecv(own.get() + 1, 1, ncclInt32, 0, comms[0], nullptr) ==
          (n == 3 ? ncclSystemError : ncclSuccess));
    CHECK(ncclGroupEnd() == ncclSystemError);
  }
  CHECK(std::string(ncclGetLastError(comms[0])) == "a failure that was asked for");
  CHECK(nccl_stand_in::groups_launched() == before);
  check(ncclGroupStart());
  check(ncclSend(own.get(), 1, ncclInt32, 0, comms[0], nullptr));
  check(ncclRecv(own.get() + 1, 1, ncclInt32, 0, comms[0], nullptr));
  check(ncclGroupEnd());
  CHECK(nccl_stand_in::groups_launched() == before + 1);
}

TEST_CASE("a broken rank says so, delivers nothing, and can only be aborted") {
  Communicators comms(2);
  std::atomic<int> broken{0}, asked{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(Values(kCount, 7));
    pass_on(from, to, comms[rank], stream);
    nccl_stand_in::break_rank(comms[rank]);
    for (++broken; broken < 2;) std::this_thread::yield();
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comms[rank], &state));
    if (state != ncclRemoteError || ncclCommDestroy(comms[rank]) != ncclRemoteError)
      return "it is not broken";
    const std::string left = nccl_stand_in::leftovers();
    if (left.find(std::to_string(rank) + " of 2 on device " + std::to_string(rank) +
                  " was not ended, with groups") == std::string::npos)
      return "left over: " + left;
    for (int ask = 0; ask < 3; ++ask)
      if (cudaStreamQuery(stream) != cudaErrorNotReady) return "it has run";
    for (++asked; asked < 2;) std::this_thread::yield();
    comms.abort(rank);
    return test::difference("nothing", to.read(stream), Values(kCount, 7));
  });
  CHECK(verdict == "");
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("an abort ends calls that wait for ranks who never come") {
  const ncclUniqueId id = new_id();
  ncclConfig_t config = not_blocking();
  ncclComm_t alone = nullptr;
  CHECK(ncclCommInitRankConfig(&alone, 2, id, 0, &config) == ncclInProgress);
  ncclResult_t state = ncclSuccess;
  for (int ask = 0; ask < 10; ++ask) check(ncclCommGetAsyncError(alone, &state));
  CHECK(state == ncclInProgress);
  check(ncclCommAbort(alone));
  Communicators comms(2);
  const DeviceArray<int> own(kCount);
  ncclResult_t got = ncclSuccess;
  std::thread sender([&] { got = ncclSend(own.get(), 1, ncclInt32, 1, comms[0], nullptr); });
  while (nccl_stand_in::waiting() == 0) std::this_thread::yield();
  comms.abort(0);
  sender.join();
  CHECK(got == ncclInternalError);
}

TEST_CASE("what could only pass by luck ends the program") {
  const auto found = [](const char* words, auto body) {
    cuda_test::check_found(
        [&] {
          Communicators comms(2);
          body(comms);
        },
        words);
  };
  found("used after its end", [](Communicators& comms) {
    ncclCommDestroy(comms[0]);
    int rank = 0;
    ncclCommUserRank(comms[0], &rank);
  });
  found("used after its end", [](Communicators& comms) {
    ncclCommAbort(comms[0]);
    ncclCommDestroy(comms[0]);
  });
  found("what is no communicator",
        [](Communicators& comms) { ncclCommDestroy(reinterpret_cast<ncclComm_t>(&comms)); });
  found("did not give", [](Communicators&) {
    ncclComm_t comm = nullptr;
    ncclCommInitRank(&comm, 1, {}, 0);
  });
  found("groups of the communicator are not done", [](Communicators& comms) {
    const DeviceArray<int> own(kCount);
    ncclGroupStart();
    ncclSend(own.get(), 1, ncclInt32, 0, comms[0], nullptr);
    ncclRecv(own.get() + 1, 1, ncclInt32, 0, comms[0], nullptr);
    ncclGroupEnd();
    ncclComm_t part = nullptr;
    ncclCommSplit(comms[0], 0, 0, &part, nullptr);
  });
}

}  // namespace
}  // namespace sparsecoll::nccl_test
