// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests communicators of the stand-in: init, split, states, errors, and the end.

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

TEST_CASE("ranks init with one id, and can be queried") {
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
    return size == 3 && own == rank && device == rank + 1 && refused ? ""
                                                                     : "wrong rank, size or device";
  });
  CHECK(verdict == "");
  int version = 0;
  check(ncclGetVersion(&version));
  CHECK(version == NCCL_VERSION(2, 28, 3));
}

TEST_CASE("one thread inits all ranks in a group, and bad configs are refused") {
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

TEST_CASE("a non-blocking call is in progress until the state was queried several times") {
  const ncclUniqueId id = new_id();
  std::atomic<int> called{0};
  const std::string verdict = test::run_threads("non-blocking", 2, [&](int rank) -> std::string {
    check(cudaSetDevice(rank));
    ncclConfig_t config = non_blocking();
    ncclComm_t comm = nullptr;
    std::string wrong;
    const auto expect = [&](bool good, const char* what) {
      if (!good) wrong += std::string(what) + "; ";
    };
    expect(ncclCommInitRankConfig(&comm, 2, id, rank, &config) == ncclInProgress, "init");
    int got = 0;
    expect(ncclCommUserRank(comm, &got) == ncclInvalidArgument, "used while in progress");
    expect(ncclCommDestroy(comm) == ncclInvalidArgument, "destroyed while in progress");
    expect(wait_until_ready(comm) >= 3, "init was done at once");
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    while (rank == 1 && called < 20) std::this_thread::yield();
    const std::size_t before = nccl_stand_in::groups_launched();
    check(ncclGroupStart());
    check(ncclSend(from.get(), kCount, ncclInt32, 1 - rank, comm, stream));
    check(ncclRecv(to.get(), kCount, ncclInt32, 1 - rank, comm, stream));
    expect(ncclGroupEnd() == ncclInProgress, "group");
    ncclResult_t state = ncclSuccess;
    for (; rank == 0 && called < 20; ++called) {
      check(ncclCommGetAsyncError(comm, &state));
      expect(state == ncclInProgress, "connected without the peer");
      expect(nccl_stand_in::groups_launched() == before, "launched without the peer");
      expect(cudaStreamQuery(stream) == cudaSuccess, "on the stream without the peer");
    }
    expect(ncclSend(nullptr, 0, ncclInt8, 0, comm, stream) == ncclInvalidArgument, "two at once");
    wait_until_ready(comm);
    wrong += test::difference("exchanged", to.read(stream), Values(kCount, 1 - rank));
    expect(ncclCommFinalize(comm) == ncclInProgress, "finalize");
    wait_until_ready(comm);
    check(ncclCommDestroy(comm));
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE("a split by color and key waits for all ranks") {
  const Communicators comms(5);
  std::atomic<int> called{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    ncclComm_t child = reinterpret_cast<ncclComm_t>(1);
    while (rank == 4 && called < 4) std::this_thread::yield();
    ++called;
    const int color = rank == 3 ? NCCL_SPLIT_NOCOLOR : rank % 2;
    check(ncclCommSplit(comms[rank], color, -rank, &child, nullptr));
    if (called != 5) return "it did not wait for all";
    if (rank == 3) return child ? "a communicator without a color" : "";
    int size = 0, own = -1, device = -1;
    check(ncclCommCount(child, &size));
    check(ncclCommUserRank(child, &own));
    check(ncclCommCuDevice(child, &device));
    const bool right =
        rank == 1 ? size == 1 && own == 0 : size == 3 && own == (4 - rank) / 2 && device == rank;
    check(ncclCommDestroy(child));
    return right ? "" : "wrong rank, size or device";
  });
  CHECK(verdict == "");
  CHECK(nccl_stand_in::communicators() == 5);
}

TEST_CASE("a split of non-blocking communicators returns null until it is complete") {
  const ncclUniqueId id = new_id();
  const std::string verdict = test::run_threads("split", 2, [&](int rank) -> std::string {
    ncclConfig_t config = non_blocking();
    ncclComm_t comm = nullptr, child = nullptr;
    ncclCommInitRankConfig(&comm, 2, id, rank, &config);
    wait_until_ready(comm);
    if (ncclCommSplit(comm, 0, 0, &child, nullptr) != ncclInProgress || child)
      return "the split was complete at once";
    wait_until_ready(comm);
    if (!child) return "the split has no result";
    check(ncclCommDestroy(comm));
    // The child is non-blocking, too.
    if (ncclCommFinalize(child) != ncclInProgress) return "the child is blocking";
    wait_until_ready(child);
    check(ncclCommDestroy(child));
    return "";
  });
  CHECK(verdict == "");
}

TEST_CASE("fail_at() lets a call and its group fail") {
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
  CHECK(std::string(ncclGetLastError(comms[0])) == "injected failure");
  CHECK(nccl_stand_in::groups_launched() == before);
  check(ncclGroupStart());
  check(ncclSend(own.get(), 1, ncclInt32, 0, comms[0], nullptr));
  check(ncclRecv(own.get() + 1, 1, ncclInt32, 0, comms[0], nullptr));
  check(ncclGroupEnd());
  CHECK(nccl_stand_in::groups_launched() == before + 1);
}

TEST_CASE("a broken rank reports it, delivers nothing, and can only be aborted") {
  Communicators comms(2);
  std::atomic<int> broken{0}, asked{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(Values(kCount, 7));
    exchange_around(from, to, comms[rank], stream);
    nccl_stand_in::break_rank(comms[rank]);
    for (++broken; broken < 2;) std::this_thread::yield();
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comms[rank], &state));
    if (state != ncclRemoteError || ncclCommDestroy(comms[rank]) != ncclRemoteError)
      return "the rank is not broken";
    const std::string left = nccl_stand_in::not_ended();
    if (left.find(std::to_string(rank) + " of 2 on device " + std::to_string(rank) +
                  " was not ended, with groups") == std::string::npos)
      return "left over: " + left;
    for (int ask = 0; ask < 3; ++ask)
      if (cudaStreamQuery(stream) != cudaErrorNotReady) return "the exchange has run";
    for (++asked; asked < 2;) std::this_thread::yield();
    comms.abort(rank);
    return test::difference("nothing", to.read(stream), Values(kCount, 7));
  });
  CHECK(verdict == "");
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("an abort ends calls that wait for ranks that never call") {
  const ncclUniqueId id = new_id();
  ncclConfig_t config = non_blocking();
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

TEST_CASE("misuse that NCCL does not report ends the program") {
  const auto found = [](const char* message, auto body) {
    cuda_test::check_found(
        [&] {
          Communicators comms(2);
          body(comms);
        },
        message);
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
  found("a pointer that is no communicator",
        [](Communicators& comms) { ncclCommDestroy(reinterpret_cast<ncclComm_t>(&comms)); });
  found("has not returned this id", [](Communicators&) {
    ncclComm_t comm = nullptr;
    ncclCommInitRank(&comm, 1, {}, 0);
  });
  found("groups of the communicator are not done", [](Communicators& comms) {
    const DeviceArray<int> own(kCount);
    ncclGroupStart();
    ncclSend(own.get(), 1, ncclInt32, 0, comms[0], nullptr);
    ncclRecv(own.get() + 1, 1, ncclInt32, 0, comms[0], nullptr);
    ncclGroupEnd();
    ncclComm_t child = nullptr;
    ncclCommSplit(comms[0], 0, 0, &child, nullptr);
  });
}

}  // namespace
}  // namespace sparsecoll::nccl_test
