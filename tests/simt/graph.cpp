// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Graphs and their launches.

#include "graph.hpp"

#include <set>
#include <utility>

using namespace simt;

namespace {

/// The graphs that have not been destroyed.
template <class Handle>
std::set<Handle>& known() {
  static auto& all = *new std::set<Handle>;
  return all;
}
template <class Handle>
void check_known(Handle graph) {
  if (!known<Handle>().contains(graph)) stop("a graph that was destroyed, or never made");
}
template <class Handle>
Handle remember(Handle graph) {
  return *known<Handle>().insert(graph).first;
}
template <class Handle>
cudaError_t destroy(Handle graph) {
  if (!graph) return cudaErrorInvalidValue;
  const Lock lock(mutex);
  check_known(graph);
  known<Handle>().erase(graph);
  delete graph;
  note_change();  // of what it holds
  return cudaSuccess;
}

/// Queues the work of a graph, each branch in a stream of its own.
std::vector<Marker> queue(const CUgraph_st& graph, const std::vector<Marker>& after) {
  std::vector<std::shared_ptr<CUstream_st>> branches;
  std::vector<uint64_t> before;  // the branch's own work
  for (const int device : graph.device) {
    branches.push_back(nameless_stream(device));
    for (const Marker& each : after) push_wait(branches.back(), each);
    before.push_back(branches.back()->queued);
  }
  for (const CUgraph_st::Node& node : graph.nodes) {
    const size_t other = node.after_branch;
    if (node.make)
      push(branches[node.branch], node.make());
    else
      push(branches[node.branch], make_wait({branches[other], before[other] + node.after_nodes}));
  }
  std::vector<Marker> ends;
  for (const auto& branch : branches) ends.push_back({branch, branch->queued});
  return ends;
}

}  // namespace

cudaGraph_t simt::make_graph(CUgraph_st graph) {
  return remember(new CUgraph_st(std::move(graph)));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  if (fails()) return cudaErrorUnknown;
  if (!graph) return cudaErrorInvalidValue;
  const Lock lock(mutex);
  check_known(graph);
  *ready = remember(new CUgraphExec_st{*graph, {}});
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t handle) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  check_known(graph);
  const auto stream = find(handle);
  if (const cudaError_t error = refuse_implicit(*stream); error != cudaSuccess) return error;
  // On a GPU it would become a child graph, which the library does not need.
  if (stream->capture) stop("a graph that is launched into another one");
  std::vector<Marker> after = graph->last;
  after.push_back(everything(stream));
  graph->last = queue(graph->graph, after);
  for (const Marker& each : graph->last) push_wait(stream, each);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return destroy(graph); }
