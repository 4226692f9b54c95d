// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Captures of streams, and the calls that invalidate them.

#include <algorithm>
#include <utility>

#include "graph.hpp"

namespace simt {

namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

unsigned long long next_id() {
  static unsigned long long id = 0;
  return ++id;
}

/// Returns whether a capture forbids this thread calls that might wait for it.
bool prohibits(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.is_of_this_thread()) return capture.mode() != cudaStreamCaptureModeRelaxed;
  return thread_mode == cudaStreamCaptureModeGlobal &&
         capture.mode() == cudaStreamCaptureModeGlobal;
}

/// Returns whether the legacy stream would have to wait for a capture.
bool hinders_legacy(const CUstream_st& each, const CUstream_st& stream) {
  using Kind = CUstream_st::Kind;
  return stream.kind == Kind::legacy && each.kind == Kind::blocking && each.capture &&
         each.device == stream.device;
}

}  // namespace

Capture::Capture(const std::shared_ptr<CUstream_st>& origin, cudaStreamCaptureMode mode)
    : mode_(mode), id_(next_id()) {
  join(origin);
}

void Capture::join(const std::shared_ptr<CUstream_st>& stream) {
  stream->branch = streams_.size();
  streams_.push_back(stream);
  graph_.device.push_back(stream->device);
}

cudaError_t Capture::add(size_t branch, const MakeWork& make) {
  if (!invalidated_) graph_.nodes.push_back({branch, make});
  return error();
}

cudaError_t Capture::add_wait(const std::shared_ptr<CUstream_st>& stream, const CUevent_st& event) {
  if (!invalidated_) {
    if (!stream->capture) {
      stream->capture = event.capture;
      join(stream);
    }
    graph_.nodes.push_back({stream->branch, nullptr, event.branch, event.nodes});
  }
  return error();
}

size_t Capture::nodes(size_t branch) const {
  return static_cast<size_t>(
      std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                    [&](const CUgraph_st::Node& each) { return each.branch == branch; }));
}

bool Capture::is_joined() const {
  // From the last node backwards: how much of each branch the end of the first one follows.
  std::vector<size_t> left(streams_.size()), covered(streams_.size());
  for (size_t b = 0; b < left.size(); ++b) left[b] = nodes(b);
  covered[0] = left[0];
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const bool is_covered = left[node->branch]-- <= covered[node->branch];
    if (!is_covered && node->make) return false;
    if (is_covered && !node->make)
      covered[node->after_branch] = std::max(covered[node->after_branch], node->after_nodes);
  }
  return true;
}

cudaError_t Capture::end(const CUstream_st& stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (&stream != streams_.front().get()) {
    invalidate();
    return cudaErrorStreamCaptureUnmatched;
  }
  if (mode_ != cudaStreamCaptureModeRelaxed && !is_of_this_thread()) {
    invalidate();
    return cudaErrorStreamCaptureWrongThread;
  }
  const auto keep = stream.capture;  // may hold the last reference to this
  for (const auto& each : streams_) each->capture = nullptr;
  const bool joined = is_joined();
  CUgraph_st captured = std::exchange(graph_, {});
  streams_.clear();
  if (invalidated_) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *graph = make_graph(std::move(captured));
  return cudaSuccess;
}

cudaError_t refuse_unsafe() {
  cudaError_t error = cudaSuccess;
  for (const auto& each : streams()) {
    if (!each->capture || !prohibits(*each->capture)) continue;
    each->capture->invalidate();
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t refuse_captured(const CUstream_st& stream) {
  if (!stream.capture) return cudaSuccess;
  stream.capture->invalidate();
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t refuse_implicit(const CUstream_st& stream) {
  cudaError_t error = cudaSuccess;
  for (const auto& each : streams()) {
    if (!hinders_legacy(*each, stream)) continue;
    each->capture->invalidate();
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(thread_mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  const auto stream = find(handle);
  if (stream->kind == CUstream_st::Kind::legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  stream->capture = std::make_shared<Capture>(stream, mode);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const Lock lock(mutex);
  *graph = nullptr;
  const auto stream = find(handle);
  return stream->capture ? stream->capture->end(*stream, graph) : cudaErrorIllegalState;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  const auto stream = find(handle);
  // A query does not invalidate it.
  for (const auto& each : streams())
    if (hinders_legacy(*each, *stream)) return cudaErrorStreamCaptureImplicit;
  *status = cudaStreamCaptureStatusNone;
  if (!stream->capture) return cudaSuccess;
  *status = stream->capture->error() == cudaSuccess ? cudaStreamCaptureStatusActive
                                                    : cudaStreamCaptureStatusInvalidated;
  if (id) *id = stream->capture->id();
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr);
}
