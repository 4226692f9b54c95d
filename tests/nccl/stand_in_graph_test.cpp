// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests groups of the stand-in that are captured into CUDA graphs.

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/cuda/simt_run.hpp"
#include "nccl/stand_in_ranks.hpp"

namespace sparsecoll::nccl_test {
namespace {

constexpr std::size_t kCount = 100;
constexpr int kReplays = 100;

/// Returns a graph of what `body` queues on the stream, and on other streams that join it.
template <class Body>
cudaGraphExec_t capture(cudaStream_t stream, const Body& body) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  body();
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  return executable;
}

TEST_CASE("captured groups run with every launch, and not before") {
  const int size = 3;
  const Communicators comms(size);
  const std::size_t before = nccl_stand_in::groups_launched();
  const std::string verdict = comms.run([&](int rank) {
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    const cudaGraphExec_t graph = capture(stream, [&] {
      exchange_around(from, to, comms[rank], stream);
      copy(to, from, stream);
    });
    std::string wrong = test::difference("nothing yet", from.read(stream), Values(kCount, rank));
    for (int round = 0; round < kReplays; ++round) check(cudaGraphLaunch(graph, stream));
    const int origin = (rank + kReplays * (size - 1)) % size;
    wrong += test::difference("received", to.read(stream), Values(kCount, origin));
    // Makes a call between launches.
    exchange_around(from, to, comms[rank], stream);
    copy(to, from, stream);
    check(cudaGraphLaunch(graph, stream));
    const int last = (origin + 2 * (size - 1)) % size;
    wrong += test::difference("mixed", to.read(stream), Values(kCount, last));
    check(cudaGraphExecDestroy(graph));
    return wrong;
  });
  CHECK(verdict == "");
  CHECK(nccl_stand_in::groups_launched() - before == size * (kReplays + 2));
}

TEST_CASE("groups in two branches of a graph run in the order of their calls") {
  const Communicators comms(2);
  const std::string verdict = comms.run([&](int rank) {
    const OwnStream stream, other;
    const DeviceArray<int> first(Values(kCount, rank)), second(Values(kCount, 10 + rank)),
        to(kCount), to_second(kCount);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const cudaGraphExec_t graph = capture(stream, [&] {
      check(cudaEventRecord(event, stream));
      check(cudaStreamWaitEvent(other, event, 0));
      exchange_around(first, to, comms[rank], other);
      exchange_around(second, to_second, comms[rank], stream);
      check(cudaEventRecord(event, other));
      check(cudaStreamWaitEvent(stream, event, 0));
    });
    std::string wrong;
    for (int round = 0; round < 10; ++round) {
      check(cudaMemsetAsync(to.get(), 0, kCount * sizeof(int), stream));
      check(cudaGraphLaunch(graph, stream));
      wrong += test::difference("first", to.read(stream), Values(kCount, 1 - rank));
      wrong += test::difference("second", to_second.read(stream), Values(kCount, 11 - rank));
    }
    check(cudaGraphExecDestroy(graph));
    check(cudaEventDestroy(event));
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE("a non-blocking communicator is captured while its state is queried") {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  const std::string verdict = test::run_threads("non-blocking", 2, [&](int rank) {
    check(cudaSetDevice(rank));
    ncclConfig_t config = non_blocking();
    ncclComm_t comm = nullptr;
    ncclCommInitRankConfig(&comm, 2, id, rank, &config);
    wait_until_ready(comm);
    const OwnStream stream;
    const DeviceArray<int> from(Values(kCount, rank)), to(kCount);
    const cudaGraphExec_t graph = capture(stream, [&] {
      check(ncclGroupStart());
      check(ncclSend(from.get(), kCount, ncclInt32, 1 - rank, comm, stream));
      check(ncclRecv(to.get(), kCount, ncclInt32, 1 - rank, comm, stream));
      if (ncclGroupEnd() == ncclInProgress) wait_until_ready(comm);
    });
    check(cudaGraphLaunch(graph, stream));
    const std::string wrong =
        test::difference("exchanged", to.read(stream), Values(kCount, 1 - rank));
    check(cudaGraphExecDestroy(graph));
    check(ncclCommDestroy(comm));
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE(
    "an abort ends the groups of a graph, not its other work, and waits for the graph's end") {
  Communicators comms(2);
  check(cudaSetDevice(0));
  const OwnStream stream;
  const DeviceArray<int> mine(Values(kCount, 5)), from(Values(kCount, 1)), to(Values(kCount, 7)),
      after(kCount);
  // Rank 1 makes one exchange, and never another one.
  std::thread peer([&] {
    check(cudaSetDevice(1));
    const DeviceArray<int> both(2 * kCount);
    check(ncclGroupStart());
    check(ncclSend(both.get(), kCount, ncclInt32, 0, comms[1], nullptr));
    check(ncclRecv(both.get() + kCount, kCount, ncclInt32, 0, comms[1], nullptr));
    check(ncclGroupEnd());
    check(cudaStreamSynchronize(nullptr));
  });
  const auto exchange = [&](const DeviceArray<int>& into) {
    check(ncclGroupStart());
    check(ncclSend(from.get(), kCount, ncclInt32, 1, comms[0], stream));
    check(ncclRecv(into.get(), kCount, ncclInt32, 1, comms[0], stream));
    check(ncclGroupEnd());
  };
  exchange(after);
  check(cudaStreamSynchronize(stream));
  peer.join();
  const cudaGraphExec_t graph = capture(stream, [&] {
    exchange(to);
    copy(mine, after, stream);
  });
  check(cudaGraphLaunch(graph, stream));
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  std::atomic<bool> ended{false};
  std::thread watchdog([&] {
    comms.abort(0);
    ended = true;
  });
  CHECK(after.read(stream) == Values(kCount, 5));
  CHECK(to.read(stream) == Values(kCount, 7));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ended);
  check(cudaGraphExecDestroy(graph));
  watchdog.join();
}

TEST_CASE("a graph that sends memory that was freed ends the program") {
  cuda_test::check_found(
      [] {
        const Communicators comms(1);
        const OwnStream stream;
        const DeviceArray<int> to(kCount);
        cudaGraphExec_t graph = nullptr;
        {
          const DeviceArray<int> from(kCount);
          graph = capture(stream, [&] { exchange_around(from, to, comms[0], stream); });
        }
        check(cudaGraphLaunch(graph, stream));
        check(cudaStreamSynchronize(stream));
      },
      "memory was freed before it was sent");
}

}  // namespace
}  // namespace sparsecoll::nccl_test
