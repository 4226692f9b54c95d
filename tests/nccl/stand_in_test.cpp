// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the stand-in moves data as NCCL does, and no earlier than NCCL must.

#include <atomic>
#include <chrono>
#include <thread>

#include "nccl/stand_in_ranks.hpp"

namespace sparsecoll::nccl_test {
namespace {

constexpr std::size_t kCount = 100;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST_CASE("messages travel around a ring of ranks") {
  for (const int size : {1, 2, 3, 4, 7, 9, 16}) {
    const Communicators comms(size);
    const std::size_t before = nccl_stand_in::groups_launched();
    const std::string verdict = comms.run([&](int rank) {
      const OwnStream stream;
      const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
      for (int round = 0; round < 20; ++round) {
        exchange_around(from, to, comms[rank], stream);
        copy(to, from, stream);
      }
      const int origin = (rank + 20 * (size - 1)) % size;
      return test::difference("received", to.read(stream), Values(kCount, origin));
    });
    CHECK(verdict == "");
    CHECK(nccl_stand_in::groups_launched() - before == 20u * static_cast<unsigned>(size));
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("a thread that waits runs the streams of other ranks, too") {
  const Communicators comms(4);
  std::atomic<int> issued{0};
  std::atomic<bool> over{false};
  const std::string verdict = comms.run([&](int rank) {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, -1)), fresh(Values(kCount, rank)), to(kCount);
    copy(fresh, from, stream);  // runs before the send reads `from`
    exchange_around(from, to, comms[rank], stream);
    ++issued;
    while (rank != 2 && !over) std::this_thread::yield();
    while (issued < 4) std::this_thread::yield();
    const Values got = to.read(stream);
    over = true;
    return test::difference("received", got, Values(kCount, (rank + 3) % 4));
  });
  CHECK(verdict == "");
}

TEST_CASE("an event behind a receive is not done before the peer has sent") {
  const Communicators comms(2);
  std::atomic<int> step{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(Values(kCount, 7));
    exchange_around(from, to, comms[rank], stream);  // connects the ranks
    check(cudaStreamSynchronize(stream));
    if (rank == 1) {
      while (step < 1) std::this_thread::yield();
      exchange_around(from, to, comms[rank], stream);
      step = 2;
      while (step < 3) std::this_thread::yield();
      return "";
    }
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    exchange_around(from, to, comms[rank], stream);
    check(cudaEventRecord(event, stream));
    std::string wrong;
    for (int ask = 0; ask < 10; ++ask)
      if (cudaEventQuery(event) != cudaErrorNotReady)
        wrong = "the exchange has run without the peer; ";
    step = 1;
    while (step < 2) std::this_thread::yield();
    if (cudaEventQuery(event) != cudaErrorNotReady)
      wrong += "the event was done before a query has run the stream; ";
    if (cudaEventQuery(event) != cudaSuccess) wrong += "a query does not run the stream; ";
    if (cudaStreamQuery(stream) != cudaSuccess) wrong += "the stream is not idle; ";
    step = 3;
    check(cudaEventDestroy(event));
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE("messages between two ranks keep their order on different streams") {
  const Communicators comms(2);
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream early, late;
    const DeviceArray<int> one(Values(kCount, rank ? -1 : 1)), two(Values(kCount, rank ? -1 : 2));
    for (const bool first : {true, false}) {
      const DeviceArray<int>& own = first ? one : two;
      const cudaStream_t stream = first ? early : late;
      check(rank == 0 ? ncclSend(own.get(), kCount, ncclInt32, 1, comms[rank], stream)
                      : ncclRecv(own.get(), kCount, ncclInt32, 0, comms[rank], stream));
    }
    const std::string second = test::difference("second", two.read(late), Values(kCount, 2));
    if (cudaStreamQuery(early) != cudaSuccess)
      return "the first message was not received before the second";
    return second + test::difference("first", one.read(early), Values(kCount, 1));
  });
  CHECK(verdict == "");
}

TEST_CASE("a group runs after earlier work of all its streams and before later work") {
  const Communicators comms(2);
  std::atomic<int> seen{0};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream here, there;
    const DeviceArray<int> mine(Values(kCount, rank)), from(Values(kCount, -1)), to(kCount),
        out(kCount);
    copy(mine, from, there);
    check(ncclGroupStart());
    check(ncclRecv(to.get(), kCount, ncclInt32, 1 - rank, comms[rank], here));
    check(ncclGroupStart());  // a nested group is part of the outer one
    check(ncclSend(from.get(), kCount, ncclInt32, 1 - rank, comms[rank], there));
    check(ncclGroupEnd());
    check(ncclGroupEnd());
    copy(to, out, there);
    const std::string wrong =
        test::difference("exchanged", to.read(here), Values(kCount, 1 - rank));
    for (++seen; seen < 2;) std::this_thread::yield();  // before a rank runs its other stream
    return wrong + test::difference("copied", out.read(there), Values(kCount, 1 - rank));
  });
  CHECK(verdict == "");
}

TEST_CASE("one thread makes the calls of all ranks, and a rank sends to itself") {
  const Communicators comms(3);
  std::vector<DeviceArray<int>> from, to;
  std::vector<OwnStream> streams(3);
  check(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    check(cudaSetDevice(rank));
    from.emplace_back(Values(kCount, rank));
    to.emplace_back(3 * kCount);
    for (int peer = 0; peer < 3; ++peer) {
      check(ncclSend(from[r].get(), kCount, ncclInt32, peer, comms[rank], nullptr));
      check(ncclRecv(to[r].get() + kCount * static_cast<std::size_t>(peer), kCount, ncclInt32, peer,
                     comms[rank], nullptr));
    }
  }
  check(ncclGroupEnd());
  Values all(kCount, 0);
  for (const int value : {1, 2}) all.insert(all.end(), kCount, value);
  for (int rank = 2; rank >= 0; --rank) {
    check(cudaSetDevice(rank));  // read() uses the legacy stream of the current device
    CHECK(to[static_cast<std::size_t>(rank)].read() == all);
  }
  check(cudaSetDevice(0));
}

TEST_CASE("ranks may share a device") {
  const int devices[] = {0, 0, 0};
  ncclComm_t comms[3];
  check(ncclCommInitAll(comms, 3, devices));
  const std::string verdict = test::run_threads("shared", 3, [&](int rank) {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    for (int round = 0; round < 10; ++round) exchange_around(from, to, comms[rank], stream);
    return test::difference("received", to.read(stream), Values(kCount, (rank + 2) % 3));
  });
  CHECK(verdict == "");
  for (const ncclComm_t comm : comms) check(ncclCommDestroy(comm));
}

TEST_CASE("messages of unequal lengths hang until the rank aborts, and deliver nothing") {
  Communicators comms(2);
  std::atomic<int> aborting{0};
  std::vector<Values> got(2);
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(Values(kCount, 7));
    const std::size_t count = rank == 0 ? kCount : kCount - 1;
    check(ncclGroupStart());
    check(ncclSend(from.get(), count, ncclInt32, 1 - rank, comms[rank], stream));
    check(ncclRecv(to.get(), kCount, ncclInt32, 1 - rank, comms[rank], stream));
    check(ncclGroupEnd());
    std::string wrong;
    for (int ask = 0; ask < 10; ++ask)
      if (cudaStreamQuery(stream) != cudaErrorNotReady) wrong = "the exchange did not hang; ";
    std::thread watchdog([&] {
      nap();
      if (++aborting == 2 && cudaStreamQuery(stream) != cudaErrorNotReady)
        wrong += "the exchange did not hang later; ";
      comms.abort(rank);
    });
    check(cudaStreamSynchronize(stream));
    watchdog.join();
    if (aborting == 0) wrong += "the stream has not waited; ";
    got[static_cast<std::size_t>(rank)] = to.read(stream);
    return wrong;
  });
  CHECK(verdict == "");
  CHECK(got[0] == Values(kCount, 7));
  CHECK(nccl_stand_in::communicators() == 0);
}

TEST_CASE("the first exchange with a peer waits for the peer's call") {
  const Communicators comms(2);
  std::atomic<bool> called{false};
  const std::string verdict = comms.run([&](int rank) -> std::string {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    if (rank == 1) {
      nap();
      called = true;
    }
    exchange_around(from, to, comms[rank], stream);
    if (!called) return "the call did not wait for the peer";
    check(cudaStreamSynchronize(stream));
    return "";
  });
  CHECK(verdict == "");
}

TEST_CASE("bad buffers, peers, types and streams are refused") {
  const Communicators comms(2);
  const DeviceArray<int> own(kCount);
  check(cudaSetDevice(1));
  const DeviceArray<int> other(kCount);
  const OwnStream elsewhere;
  check(cudaSetDevice(0));
  Values host(kCount);
  const auto send = [&](const void* at, std::size_t count, int peer = 1) {
    return ncclSend(at, count, ncclInt32, peer, comms[0], nullptr);
  };
  CHECK(send(host.data(), kCount) == ncclInvalidArgument);
  CHECK(send(nullptr, kCount) == ncclInvalidArgument);
  CHECK(send(other.get(), kCount) == ncclInvalidArgument);
  CHECK(send(own.get(), kCount + 2) == ncclInvalidArgument);  // the array has room for kCount + 1
  CHECK(send(own.get(), kCount, 2) == ncclInvalidArgument);
  CHECK(send(own.get(), kCount, -1) == ncclInvalidArgument);
  CHECK(ncclSend(own.get(), kCount, ncclNumTypes, 1, comms[0], nullptr) == ncclInvalidArgument);
  CHECK(ncclSend(own.get(), kCount, ncclInt32, 1, nullptr, nullptr) == ncclInvalidArgument);
  CHECK(ncclSend(own.get(), kCount, ncclInt32, 1, comms[0], elsewhere) == ncclUnhandledCudaError);
}

}  // namespace
}  // namespace sparsecoll::nccl_test
