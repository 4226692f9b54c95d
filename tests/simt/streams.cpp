// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Streams and events.

#include "machine.hpp"

using namespace simt;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  used[current] = true;
  *stream = new CUstream_st{flags != cudaStreamNonBlocking};
  const std::lock_guard lock(mutex);
  streams.insert(*stream);
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
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard lock(mutex);
  stream->captured = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex);
  stream->captured = false;
  *graph = nullptr;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode own = cudaStreamCaptureModeGlobal;
  std::swap(own, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (fails()) return cudaErrorUnknown;
  const std::lock_guard lock(mutex);
  *status = stream && stream != cudaStreamPerThread && stream->captured
                ? cudaStreamCaptureStatusActive
                : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (fails()) return cudaErrorUnknown;
  used[current] = true;
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  const std::lock_guard lock(mutex);
  event->done = std::make_shared<bool>(false);
  event->stream = &of(stream);
  event->stream->work.push_back([done = event->done] { *done = true; });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (fails()) return cudaErrorUnknown;
  const std::lock_guard lock(mutex);
  drain(*event);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (fails()) return cudaErrorUnknown;
  const std::lock_guard lock(mutex);
  if (event->done && !*event->done) of(stream).work.push_back([copy = *event] { drain(copy); });
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  drain(of(stream));
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  const std::lock_guard lock(mutex);
  drain(of(stream));
  return cudaSuccess;
}
