// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests gtopkAllreduce in CUDA graphs. Every replay is a call.

#include "devices/graph.hpp"
#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using devices::Graph;

constexpr size_t kCount = 50, kKept = 6;

/// The calls of one rank, which change the residual.
template <class T>
class Training {
 public:
  Training(sparsecollComm_t comm, int rank, bool feedback)
      : residual(comm, kCount, feedback),
        x(test::make_data<T>(test::Kind::kWideIntegers, kCount, rank, 3, 1)),
        sum(kCount),
        comm_(comm) {}

  sparsecollResult_t call() const {
    return gtopkAllreduce(x.get(), sum.get(), kCount, kKept, test::kDatatype<T>, sparsecollAvg,
                          residual.handle(), comm_, stream);
  }
  void must_call() const {
    if (call() != sparsecollSuccess) throw std::runtime_error(sparsecollGetLastError(comm_));
  }
  /// Returns "" if results and residuals are the same bit for bit.
  std::string differs_from(const Training& other) const {
    std::string wrong = test::difference("result", sum.read(stream), other.sum.read(other.stream));
    if (residual.handle())
      wrong += test::difference("residual", residual.read(), other.residual.read());
    return wrong;
  }

  test::Residual<T> residual;
  DeviceArray<T> x, sum;
  OwnStream stream;

 private:
  sparsecollComm_t comm_;
};

sparsecollConfig_t config_with(int rule, int wire = sparsecollWireNative) {
  sparsecollConfig_t config = test::default_config();
  config.residualRule = rule;
  config.wire = wire;
  return config;
}

/// Compares replays of captured calls with calls on other communicators.
template <class T>
std::string replay(int P, const sparsecollConfig_t& config, bool feedback, int replays = 15) {
  const Team team(P, config), eager(P, config);
  return team.run("replay", [&](int rank) {
    Training<T> replayed(team.comm(rank), rank, feedback), called(eager.comm(rank), rank, feedback);
    replayed.must_call();
    called.must_call();
    std::string wrong;
    {
      const Graph graph(replayed.stream, [&] { replayed.must_call(); });
      for (int done = 0; done < replays; ++done) {
        graph.launch(replayed.stream);
        called.must_call();
        if (done % 25 == 0) wrong += replayed.differs_from(called);
      }
      wrong += replayed.differs_from(called);
      // Calls between replays, with other gradients.
      for (int round = 0; round < 3; ++round) {
        const auto next = test::make_data<T>(test::Kind::kHeavyTail, kCount, rank, P, round);
        replayed.x.put(next, replayed.stream);
        called.x.put(next, called.stream);
        replayed.must_call();
        graph.launch(replayed.stream);
        called.must_call();
        called.must_call();
        wrong += replayed.differs_from(called);
      }
      // The second graph exists beside the first.
      const Graph second(replayed.stream, [&] {
        replayed.must_call();
        replayed.must_call();
      });
      for (int round = 0; round < 5; ++round) {
        second.launch(replayed.stream);
        graph.launch(replayed.stream);
        for (int calls = 0; calls < 3; ++calls) called.must_call();
        wrong += replayed.differs_from(called);
      }
      wrong += result_mismatch(sparsecollCommSynchronize(team.comm(rank)), sparsecollSuccess,
                               team.comm(rank));
      replayed.stream.wait();
    }
    replayed.must_call();
    called.must_call();
    return wrong + replayed.differs_from(called);
  });
}

TEST_CASE("replays of gtopkAllreduce are the same as calls, bit for bit, residuals included") {
  for (const int P : {1, 2, 3, 4}) {
    if (P == 4 && test::small_run()) continue;
    CAPTURE(P);
    const int replays = test::small_run() ? 5 : P == 2 ? 100 : 15;
    CHECK(replay<float>(P, config_with(sparsecollResidualConserving), true, replays) == "");
  }
  for (const int rule : {sparsecollResidualConserving, sparsecollResidualPaper}) {
    CAPTURE(rule);
    CHECK(replay<float>(3, config_with(rule), false) == "");
    CHECK(replay<float>(2, config_with(rule), true) == "");
    CHECK(replay<double>(3, config_with(rule), true) == "");
    CHECK(replay<oracle::Float16>(3, config_with(rule), true) == "");
    CHECK(replay<oracle::Bfloat16>(3, config_with(rule), true) == "");
    CHECK(replay<float>(4, config_with(rule, sparsecollWireBf16), true) == "");
    CHECK(replay<double>(3, config_with(rule, sparsecollWireBf16), true) == "");
  }
}

/// Calls that are refused during a capture. They must not break the capture.
class Refusals {
 public:
  Refusals(sparsecollComm_t comm, cudaStream_t stream) : comm_(comm), stream_(stream) {}

  void refused(const char* what, sparsecollResult_t got) {
    const std::string wrong =
        result_mismatch(got, sparsecollInvalidUsage, comm_, "stream: expected one that");
    if (!wrong.empty()) problems += text(what, ": ", wrong);
    if (!still_captured()) problems += text(what, " broke the capture; ");
  }
  bool still_captured() const {
    cudaStreamCaptureStatus status{};
    return cudaStreamIsCapturing(stream_, &status) == cudaSuccess &&
           status == cudaStreamCaptureStatusActive;
  }

  std::string problems;

 private:
  sparsecollComm_t comm_;
  cudaStream_t stream_;
};

TEST_CASE("calls that cannot be captured are refused, and the capture goes on") {
  const Team team(2);
  CHECK(team.run("refuse", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors tensors(comm);
    const test::Residual<float> unused(comm, Call{}.count);
    const auto make = [&](Call call, sparsecollResidual_t residual = nullptr) {
      return tensors.make(call, tensors.in.get(), tensors.out.get(), residual);
    };
    Call sparse, fresh;
    sparse.verb = test::Verb::kSparse;
    fresh.k = 3;
    const auto group = [&] {
      sparsecollGroupStart(comm);
      make(Call{});
      return sparsecollGroupEnd(comm);
    };
    std::string wrong;
    for (const auto got : {make(Call{}), make(sparse), group()})
      wrong += result_mismatch(tensors.finish(got), sparsecollSuccess, comm);
    const std::uint64_t sequence = sequence_of(comm);
    Refusals refusals(comm, tensors.stream);
    {
      const Graph graph(tensors.stream, [&] {
        refusals.refused("another verb", make(sparse));
        refusals.refused("a group", group());
        refusals.refused("a new shape", make(fresh));
        refusals.refused("StreamWait", sparsecollCommStreamWait(comm, tensors.stream));
        wrong += result_mismatch(make(Call{}, unused.handle()), sparsecollInvalidUsage, comm,
                                 "residual: expected one that a call has used");
        if (!refusals.still_captured()) wrong += "a residual broke the capture; ";
        sparsecollCommSynchronize(comm);  // waits for other streams
        if (!refusals.still_captured()) wrong += "Synchronize broke the capture; ";
        if (sequence_of(comm) != sequence) wrong += "a refused call was counted; ";
        wrong += result_mismatch(make(Call{}), sparsecollSuccess, comm);
      });
      graph.launch(tensors.stream);
      tensors.stream.wait();
    }
    wrong += refusals.problems;
    // The refused calls have not made the shape known.
    return wrong +
           result_mismatch(tensors.finish(make(fresh, unused.handle())), sparsecollSuccess, comm);
  }) == "");
}

TEST_CASE("communicators with blocking = 0 refuse to be captured") {
  sparsecollConfig_t queued = test::default_config();
  queued.blocking = 0;
  const Team team(2, queued);
  CHECK(team.run("queued", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors tensors(comm);
    std::string wrong =
        result_mismatch(tensors.finish(tensors.make(Call{})), sparsecollSuccess, comm);
    sparsecollResult_t got = sparsecollSuccess;
    const Graph graph(tensors.stream, [&] { got = tensors.finish(tensors.make(Call{})); });
    wrong += result_mismatch(got, sparsecollInvalidUsage, comm, "stream: expected one that");
    return wrong + result_mismatch(tensors.finish(tensors.make(Call{})), sparsecollSuccess, comm);
  }) == "");
}

TEST_CASE("a call on the legacy stream during a capture is refused, and the capture goes on") {
  const Team team(1);
  const sparsecollComm_t comm = team.comm(0);
  devices::check(cudaSetDevice(0));
  const Tensors tensors(comm);
  cudaStream_t blocking = nullptr;
  devices::check(cudaStreamCreateWithFlags(&blocking, 0));
  const auto on_legacy = [&] {
    return gtopkAllreduce(tensors.in.get(), tensors.out.get(), 9, 9, sparsecollFloat32,
                          sparsecollSum, nullptr, comm, nullptr);
  };
  CHECK(on_legacy() == sparsecollSuccess);
  CHECK(sparsecollCommSynchronize(comm) == sparsecollSuccess);
  {
    const Graph graph(blocking, [&] {
      const auto got = on_legacy();
      CHECK(result_mismatch(got, sparsecollInvalidUsage, comm, "stream: expected") == "");
    });
  }
  CHECK(on_legacy() == sparsecollSuccess);
  CHECK(sparsecollCommSynchronize(comm) == sparsecollSuccess);
  devices::check(cudaStreamDestroy(blocking));
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
