// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the files of the runtime share, and what other emulators put on its streams with.

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine.hpp"
#include "heap.hpp"

namespace simt {

class Capture;

extern std::mutex mutex;                  ///< of all that follows, where nothing else is said
extern std::atomic<bool> used[kDevices];  ///< devices by somebody, which makes a context there
extern std::atomic<size_t> allocated;
extern thread_local int current;  ///< device
using Lock = std::unique_lock<std::mutex>;

Heap& heap();
/// Device of an allocation that all of this memory is in; -1: none.
int device_of(const void* memory, size_t bytes);
/// Whether the call that asks is the one that is to fail.
bool fails();
/// Ends the program: what a test did could only pass by luck.
[[noreturn]] void stop(const char* complaint);

/// The first `number` pieces of work of a stream.
struct Marker {
  std::shared_ptr<CUstream_st> stream = nullptr;
  uint64_t number = 0;

  /// Whether all of them have run.
  bool reached() const;
};

/// A piece of work of a stream.
class Work {
 public:
  virtual ~Work() = default;
  /// Whether it can run. Asked when all before it in its stream has run, perhaps many times.
  virtual bool ready() { return true; }
  /// What may have to run first where it is not ready. Somebody may have to queue something, too.
  virtual std::vector<Marker> waits_for() const { return {}; }
  virtual void run() = 0;

  Marker marker;  ///< the stream up to and including this work; set when it is queued
};
/// Makes what is queued: at once, or for every launch of the graph that it was captured into.
using MakeWork = std::function<std::unique_ptr<Work>()>;
MakeWork task(std::function<void()> body);

// Queues of streams.

/// Ends the program where the stream was destroyed.
std::shared_ptr<CUstream_st> find(cudaStream_t stream);
/// What is queued in a stream so far; on the legacy stream, in those that it waits for as well.
Marker everything(const std::shared_ptr<CUstream_st>& stream);
/// On the stream, or into the graph that is captured from it.
cudaError_t submit(cudaStream_t stream, const MakeWork& make);
/// On the stream.
void push(const std::shared_ptr<CUstream_st>& stream, std::unique_ptr<Work> work);
/// Whether or not the marker is reached already.
std::unique_ptr<Work> make_wait(const Marker& marker);
/// Nothing that is queued there from now on runs before the marker is reached.
void push_wait(const std::shared_ptr<CUstream_st>& stream, const Marker& marker);
/// A stream without a handle, which is gone when its work has run.
std::shared_ptr<CUstream_st> nameless_stream(int device);
/// Those with handles and others.
std::vector<std::shared_ptr<CUstream_st>>& streams();

// Running. As late as it may: only what somebody waits for, and what that needs in other streams.

/// Until the marker is reached, which may be never.
void wait_for(Lock& lock, const Marker& marker);
/// Runs what can run without waiting for anybody; true: the marker is reached.
bool advance(const Marker& marker);
/// Until all that a device has been given has run.
void drain_device(Lock& lock, int device);
/// Something has changed that somebody may wait for.
void note_change();
/// Until `condition`, which is asked again after every change; false: it got too late.
using Clock = std::chrono::steady_clock;
bool wait_until(Lock& lock, const std::function<bool()>& condition,
                Clock::time_point give_up = Clock::time_point::max());

// Capturing: graph.hpp.

/// What a call that may not be made while somebody captures says of that, after it has invalidated
/// the capture, as on a GPU.
cudaError_t refuse_unsafe();
/// The same of one that uses this stream, or an event that was recorded there.
cudaError_t refuse_captured(const CUstream_st& stream);
/// The same of the legacy stream while a blocking stream of its device is captured.
cudaError_t refuse_implicit(const CUstream_st& stream);

/// As cudaEventRecord and cudaStreamWaitEvent, with the mutex held.
cudaError_t record(CUevent_st& event, cudaStream_t stream);
cudaError_t wait_event(cudaStream_t stream, const CUevent_st& event);

}  // namespace simt

struct CUstream_st {
  enum class Kind { legacy, blocking, free };

  int device = 0;
  Kind kind = Kind::free;  ///< legacy and blocking ones of a device keep to each other's order
  bool nameless = false;   ///< destroyed, or never had a handle
  std::deque<std::unique_ptr<simt::Work>> work = {};
  uint64_t queued = 0;
  uint64_t done = 0;
  uint64_t id = 0;
  std::map<uint64_t, uint64_t> waited = {};  ///< how much of each stream, by the kinds' order
  std::shared_ptr<simt::Capture> capture = nullptr;
  size_t branch = 0;  ///< of the capture
};

/// What it stands for: nothing before it was recorded; work; or a place in a captured graph.
struct CUevent_st {
  int device = 0;
  bool times = false;  ///< whether it notes when it passes
  simt::Marker at = {};
  std::shared_ptr<simt::Clock::time_point> passed = nullptr;
  std::shared_ptr<simt::Capture> capture = nullptr;
  size_t branch = 0;
  size_t nodes = 0;
};
