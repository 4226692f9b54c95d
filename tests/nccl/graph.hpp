// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>

#include "devices/device_array.hpp"

namespace sparsecoll::nccl_tests {

/// What is captured from a stream.
class Graph {
 public:
  template <class Body>
  Graph(cudaStream_t stream, const Body& body) {
    cudaGraph_t graph = nullptr;
    devices::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      body();
    } catch (const std::exception&) {
      cudaStreamEndCapture(stream, &graph);
      throw;
    }
    devices::check(cudaStreamEndCapture(stream, &graph));
    devices::check(cudaGraphInstantiate(&ready_, graph, 0));
    devices::check(cudaGraphDestroy(graph));
  }
  ~Graph() { cudaGraphExecDestroy(ready_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cudaStream_t stream) const { devices::check(cudaGraphLaunch(ready_, stream)); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace sparsecoll::nccl_tests
