// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparison of calls that a CUDA graph replays with calls that the host makes.

#include <functional>
#include <string>
#include <vector>

#include "nccl/gpu_ranks.hpp"
#include "support/data.hpp"
#include "support/push_sum.hpp"
#include "support/typed.hpp"

namespace sparsecoll::nccl_tests {

inline constexpr std::size_t kReplayed = 3000;
inline constexpr int kReplays = 100;

/// Calls that the host makes once, and calls that the host or a graph then repeats.
struct Repeated {
  std::function<void(cudaStream_t)> first;
  std::function<void(cudaStream_t)> repeated;
};

/// Makes the calls. Waits for the stream.
inline void repeat(const Repeated& calls, bool by_graph, cudaStream_t stream) {
  calls.first(stream);
  if (!by_graph) {
    for (int i = 0; i < kReplays; ++i) calls.repeated(stream);
    devices::check(cudaStreamSynchronize(stream));
    return;
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  devices::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  calls.repeated(stream);
  devices::check(cudaStreamEndCapture(stream, &graph));
  devices::check(cudaGraphInstantiate(&executable, graph, 0));
  devices::check(cudaGraphDestroy(graph));
  for (int i = 0; i < kReplays; ++i) devices::check(cudaGraphLaunch(executable, stream));
  devices::check(cudaStreamSynchronize(stream));
  devices::check(cudaGraphExecDestroy(executable));
}

inline void must(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result != sparsecollSuccess) throw std::runtime_error(test::explain(result, comm));
}

/// The vectors of a rank after its calls.
using Results = std::vector<std::vector<float>>;

/// Sums the same gradient repeatedly, with a residual.
inline Results sums(sparsecollComm_t comm, int rank, int P, bool by_graph) {
  const devices::OwnStream stream;
  const devices::DeviceArray<float> gradient(
      test::make_data<float>(test::Kind::kHeavyTail, kReplayed, rank, P, 3)),
      sum(kReplayed);
  const test::Residual<float> residual(comm, kReplayed);
  const auto call = [&](cudaStream_t on) {
    must(gtopkAllreduce(gradient.get(), sum.get(), kReplayed, kReplayed / 100, sparsecollFloat32,
                        sparsecollSum, residual.handle(), comm, on),
         comm);
  };
  repeat({call, call}, by_graph, stream);
  must(sparsecollCommSynchronize(comm), comm);
  return {sum.read(stream), residual.read()};
}

/// Makes steps of push-sum whose messages arrive one step late, in periods of two steps.
inline Results steps(sparsecollComm_t comm, int rank, int P, bool by_graph) {
  sparsecollPushSumConfig_t config = test::kExponential.config();
  config.maxDelay = 1;
  const devices::OwnStream stream;
  const devices::DeviceArray<float> x(
      test::make_data<float>(test::Kind::kHeavyTail, kReplayed, rank, P, 4)),
      estimate(kReplayed);
  const test::PushSum<float> state(comm, kReplayed, config);
  const auto period = [&](cudaStream_t on) {
    for (int step = 0; step < 2; ++step)
      must(pushSumStep(x.get(), estimate.get(), kReplayed, sparsecollFloat32, state.handle(), comm,
                       on),
           comm);
  };
  repeat({period, period}, by_graph, stream);
  must(sparsecollCommSynchronize(comm), comm);
  return {x.read(stream), estimate.read(stream)};
}

/// Runs `calls` on P ranks, by the host and by a graph. Returns "" if the results are the same,
/// otherwise a description.
inline std::string compare_replays(int P, Results (*calls)(sparsecollComm_t, int, int, bool)) {
  std::vector<std::vector<Results>> results(2, std::vector<Results>(static_cast<std::size_t>(P)));
  for (const bool by_graph : {false, true}) {
    const GpuRanks ranks(P);
    const std::string verdict = ranks.run("replays", [&](int rank) {
      results[by_graph][static_cast<std::size_t>(rank)] =
          calls(ranks.comm(rank), rank, P, by_graph);
      return std::string();
    });
    if (!verdict.empty()) return verdict;
  }
  for (std::size_t r = 0; r < results[0].size(); ++r)
    for (std::size_t i = 0; i < results[0][r].size(); ++i) {
      const std::string differs = test::difference("replayed", results[1][r][i], results[0][r][i]);
      if (!differs.empty())
        return "rank " + std::to_string(r) + ", vector " + std::to_string(i) + ": " + differs;
    }
  return "";
}

}  // namespace sparsecoll::nccl_tests
