// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Declarations that the files of the runtime share, and by which other emulators queue work on its
// streams.

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

extern std::mutex mutex;                  ///< guards all members below, unless they say otherwise
extern std::atomic<bool> used[kDevices];  ///< devices that were used, so that they have a context
extern std::atomic<size_t> allocated;
extern thread_local int current;  ///< device
using Lock = std::unique_lock<std::mutex>;

Heap& heap();
/// Returns the device whose allocation contains all of this memory; -1: none.
int device_of(const void* memory, size_t bytes);
/// Returns whether the current call is the one that must fail.
bool fails();
/// Ends the program: the test could only pass by chance.
[[noreturn]] void stop(const char* complaint);

/// A position in a stream: behind its first `number` pieces of work.
struct Marker {
  std::shared_ptr<CUstream_st> stream = nullptr;
  uint64_t number = 0;

  /// Returns whether all of them have run.
  bool reached() const;
};

/// One item of work of a stream.
class Work {
 public:
  virtual ~Work() = default;
  /// Returns whether it can run. Asked when all earlier work of its stream has run, perhaps many
  /// times.
  virtual bool ready() { return true; }
  /// Returns work that may have to run first, if it is not ready. Other threads may have to queue
  /// something, too.
  virtual std::vector<Marker> waits_for() const { return {}; }
  virtual void run() = 0;

  Marker marker;  ///< the stream up to and including this work; set when it is queued
};
/// Creates the work to queue: now, or for every launch of the graph into which it was captured.
using MakeWork = std::function<std::unique_ptr<Work>()>;
MakeWork task(std::function<void()> body);

// Queues of streams.

/// Ends the program if the stream was destroyed.
std::shared_ptr<CUstream_st> find(cudaStream_t stream);
/// Marks the end of the work that is queued in a stream; for the legacy stream also that of the
/// streams for which it waits.
Marker everything(const std::shared_ptr<CUstream_st>& stream);
/// Queues work on the stream, or adds it to the graph that is captured from it.
cudaError_t submit(cudaStream_t stream, const MakeWork& make);
/// On the stream.
void push(const std::shared_ptr<CUstream_st>& stream, std::unique_ptr<Work> work);
/// Queues a wait for the marker, even if the marker has been reached.
std::unique_ptr<Work> make_wait(const Marker& marker);
/// Lets no later work of the stream run before the marker is reached.
void push_wait(const std::shared_ptr<CUstream_st>& stream, const Marker& marker);
/// Returns a stream without a handle, which disappears when its work has run.
std::shared_ptr<CUstream_st> nameless_stream(int device);
/// Returns all streams, with and without handles.
std::vector<std::shared_ptr<CUstream_st>>& streams();

// Functions that run work. They run it as late as possible: only the work that a thread waits for,
// and the work of other streams on which that depends.

/// Waits until the marker is reached, which may never happen.
void wait_for(Lock& lock, const Marker& marker);
/// Runs the work that need not wait. Returns whether the marker is reached.
bool advance(const Marker& marker);
/// Waits until all work of a device has run.
void drain_device(Lock& lock, int device);
/// Wakes the threads that wait for a change.
void note_change();
/// Waits until `condition` holds, which is evaluated after every change. Returns false at the time
/// limit.
using Clock = std::chrono::steady_clock;
bool wait_until(Lock& lock, const std::function<bool()>& condition,
                Clock::time_point give_up = Clock::time_point::max());

// Capturing: graph.hpp.

/// Returns the error of a call that is forbidden during a capture, after it has invalidated the
/// capture, as on a GPU.
cudaError_t refuse_unsafe();
/// Does the same for a call that uses this stream, or an event that was recorded there.
cudaError_t refuse_captured(const CUstream_st& stream);
/// Does the same for a call on the legacy stream while a blocking stream of its device is captured.
cudaError_t refuse_implicit(const CUstream_st& stream);

/// cudaEventRecord and cudaStreamWaitEvent, with the mutex held.
cudaError_t record(CUevent_st& event, cudaStream_t stream);
cudaError_t wait_event(cudaStream_t stream, const CUevent_st& event);

}  // namespace simt

struct CUstream_st {
  enum class Kind { legacy, blocking, free };

  int device = 0;
  Kind kind =
      Kind::free;  ///< the legacy stream and the blocking streams of a device wait for each other
  bool nameless = false;  ///< destroyed, or never had a handle
  std::deque<std::unique_ptr<simt::Work>> work = {};
  uint64_t queued = 0;
  uint64_t done = 0;
  uint64_t id = 0;
  std::map<uint64_t, uint64_t> waited = {};  ///< position in each stream, in the order of the kinds
  std::shared_ptr<simt::Capture> capture = nullptr;
  size_t branch = 0;  ///< of the capture
};

/// An event. It marks nothing (before it is recorded), work of a stream, or a position in a
/// captured graph.
struct CUevent_st {
  int device = 0;
  bool times = false;  ///< whether it records its time of completion
  simt::Marker at = {};
  std::shared_ptr<simt::Clock::time_point> passed = nullptr;
  std::shared_ptr<simt::Capture> capture = nullptr;
  size_t branch = 0;
  size_t nodes = 0;
};
