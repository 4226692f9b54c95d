// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Streams and events.

#include "graph.hpp"

namespace simt {

cudaError_t record(CUevent_st& event, cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream->device != event.device) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuse_implicit(*stream); error != cudaSuccess) return error;
  event.capture = stream->capture;
  if (event.times && !stream->capture) {
    event.passed = std::make_shared<Clock::time_point>();
    everything(stream);  // all earlier work, also of other streams
    push(stream, task([passed = event.passed] { *passed = Clock::now(); })());
  }
  event.at = stream->capture ? Marker() : everything(stream);
  if (!stream->capture) return cudaSuccess;
  event.branch = stream->branch;
  event.nodes = stream->capture->nodes(stream->branch);
  return stream->capture->error();
}

cudaError_t wait_event(cudaStream_t handle, const CUevent_st& event) {
  const auto stream = find(handle);
  if (const cudaError_t error = refuse_implicit(*stream); error != cudaSuccess) return error;
  const auto& from = event.capture;
  if (!from && !stream->capture) {
    everything(stream);
    push_wait(stream, event.at);
    return cudaSuccess;
  }
  if (!from && !event.at.stream) return cudaSuccess;  // never recorded
  if (from && !from->ended()) {
    if (stream->kind == CUstream_st::Kind::legacy) {
      from->invalidate();
      return cudaErrorStreamCaptureImplicit;
    }
    if (!stream->capture || stream->capture == from) return from->add_wait(stream, event);
    from->invalidate();
  }
  // An order between a graph and work outside of it, or between two graphs.
  if (stream->capture) stream->capture->invalidate();
  return from && stream->capture && !from->ended() ? cudaErrorStreamCaptureMerge
                                                   : cudaErrorStreamCaptureIsolation;
}

namespace {

/// Refuses an event that was recorded in a capture, for a wait or a query.
cudaError_t refuse_recorded(const CUevent_st& event) {
  if (!event.capture) return refuse_unsafe();
  event.capture->invalidate();
  return cudaErrorCapturedEvent;
}
cudaError_t refuse_wait(const CUstream_st& stream) {
  if (const cudaError_t error = refuse_captured(stream); error != cudaSuccess) return error;
  if (const cudaError_t error = refuse_implicit(stream); error != cudaSuccess) return error;
  return refuse_unsafe();
}

/// Returns the state before the query, so that no query succeeds at once.
cudaError_t ask(const Marker& marker) {
  const bool reached = marker.reached();
  advance(marker);
  return reached ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace
}  // namespace simt

using namespace simt;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  used[current] = true;
  const Lock lock(mutex);
  const auto made = nameless_stream(current);
  made->nameless = false;
  if (flags != cudaStreamNonBlocking) made->kind = CUstream_st::Kind::blocking;
  *stream = made.get();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  if (fails()) return cudaErrorUnknown;
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (fails()) return cudaErrorUnknown;
  *least = 0;
  *greatest = -1;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const Lock lock(mutex);
  const auto stream = find(handle);
  if (stream->capture) stop("a stream that is destroyed while it is captured");
  // The queued work still runs when a thread waits for it.
  stream->nameless = true;
  if (stream->work.empty()) std::erase(streams(), stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (fails()) return cudaErrorUnknown;
  Lock lock(mutex);
  const auto stream = find(handle);
  if (const cudaError_t error = refuse_wait(*stream); error != cudaSuccess) return error;
  wait_for(lock, everything(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  const auto stream = find(handle);
  if (const cudaError_t error = refuse_wait(*stream); error != cudaSuccess) return error;
  return ask(everything(stream));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (fails()) return cudaErrorUnknown;
  used[current] = true;
  *event = new CUevent_st{current, flags != cudaEventDisableTiming};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(mutex);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  return record(*event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (fails()) return cudaErrorUnknown;
  Lock lock(mutex);
  if (const cudaError_t error = refuse_recorded(*event); error != cudaSuccess) return error;
  wait_for(lock, Marker(event->at));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  if (const cudaError_t error = refuse_recorded(*event); error != cudaSuccess) return error;
  return ask(Marker(event->at));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  if (!begin->passed || !end->passed || begin->device != end->device)
    return cudaErrorInvalidResourceHandle;
  if (begin->capture || end->capture) return cudaErrorCapturedEvent;
  if (!begin->at.reached() || !end->at.reached()) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*end->passed - *begin->passed).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (fails()) return cudaErrorUnknown;
  const Lock lock(mutex);
  return wait_event(stream, *event);
}
