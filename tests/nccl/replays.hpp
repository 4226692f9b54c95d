// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that a CUDA graph makes over and over, against as many that the host makes. What is wrong
// in words; "" when nothing is.

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

/// What is made once as it is, and then `again` times, by the host or by a graph.
struct Repeated {
  std::function<void(cudaStream_t)> once;
  std::function<void(cudaStream_t)> again;
};

inline void repeat(const Repeated& calls, bool by_graph, cudaStream_t stream) {
  calls.once(stream);
  if (!by_graph) {
    for (int i = 0; i < kReplays; ++i) calls.again(stream);
    devices::check(cudaStreamSynchronize(stream));
    return;
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  devices::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  calls.again(stream);
  devices::check(cudaStreamEndCapture(stream, &graph));
  devices::check(cudaGraphInstantiate(&ready, graph, 0));
  devices::check(cudaGraphDestroy(graph));
  for (int i = 0; i < kReplays; ++i) devices::check(cudaGraphLaunch(ready, stream));
  devices::check(cudaStreamSynchronize(stream));
  devices::check(cudaGraphExecDestroy(ready));
}

inline void must(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result != sparsecollSuccess) throw std::runtime_error(test::explain(result, comm));
}

/// What a rank has at the end.
using Left = std::vector<std::vector<float>>;

/// Sums of the same gradient, with a residual that goes on from call to call.
inline Left sums(sparsecollComm_t comm, int rank, int P, bool by_graph) {
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

/// Steps of push-sum whose messages are a step late, a period of two at a time.
inline Left steps(sparsecollComm_t comm, int rank, int P, bool by_graph) {
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

/// `what` on P ranks, by the host and by a graph.
inline std::string replayed(int P, Left (*what)(sparsecollComm_t, int, int, bool)) {
  std::vector<std::vector<Left>> left(2, std::vector<Left>(static_cast<std::size_t>(P)));
  for (const bool by_graph : {false, true}) {
    const GpuRanks ranks(P);
    const std::string verdict = ranks.run("replays", [&](int rank) {
      left[by_graph][static_cast<std::size_t>(rank)] = what(ranks.comm(rank), rank, P, by_graph);
      return std::string();
    });
    if (!verdict.empty()) return verdict;
  }
  for (std::size_t r = 0; r < left[0].size(); ++r)
    for (std::size_t part = 0; part < left[0][r].size(); ++part) {
      const std::string differs = test::difference("replayed", left[1][r][part], left[0][r][part]);
      if (!differs.empty())
        return "rank " + std::to_string(r) + ", part " + std::to_string(part) + ": " + differs;
    }
  return "";
}

}  // namespace sparsecoll::nccl_tests
