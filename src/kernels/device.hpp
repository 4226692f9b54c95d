// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/function_ref.hpp"
#include "core/memory.hpp"
#include "core/timeline.hpp"
#include "kernels/kernels.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll {

/// The number of the host where a device number is expected.
inline constexpr int kHost = -1;

// Queries of this process's devices (cuda/device_queries.cpp). A library built without CUDA has no
// devices (no_device.cpp). All throw UnhandledCudaError.

/// Returns the number of devices, 0 without a driver.
int count_devices();
/// Returns the address of a device on the PCI bus, such as "0000:3b:00.0"; "" if it is unknown.
std::string pci_address(int device);
/// Returns the calling thread's current device, or kHost if this process does not use devices yet.
int current_device();
/// Returns the device that holds the memory, also if it is managed memory, or kHost. Creates no
/// context.
int device_of(const void* memory);
/// Returns whether a stream of that device is being captured into a graph. Throws InvalidUsage for
/// the legacy default stream while a stream is captured that it would wait for.
bool is_captured(int device, Stream stream);
/// Returns whether the handle names the same stream in every thread.
bool is_same_in_all_threads(Stream stream);

/// The memory that messages are packed to and unpacked from. It is the host's if the host sends
/// them. Kernels write such messages straight to host memory, so only what is sent crosses the bus.
/// Large messages that can be sent from the device stay there (Kernels::keep_large_on_device()).
enum class MessageLocation { on_device, on_host };

/// The work that a stream has at one time. All threads that wait for it share the object.
class Event {
 public:
  virtual ~Event() = default;
};

/// A communicator's share of a device: its stream, workspace and kernels. One thread may use it at
/// a time; mark(), order_after_calls() and wait() may run concurrently.
class Device {
 public:
  virtual ~Device() = default;

  virtual int number() const = 0;
  /// Device memory that outlives a call.
  virtual const std::shared_ptr<Memory>& memory() const = 0;
  /// Page-locked host memory that the device can access. Any thread may use it.
  virtual const std::shared_ptr<Memory>& page_locked() = 0;
  /// Device memory for received messages. Any thread may use it.
  virtual const std::shared_ptr<Memory>& receive_memory() = 0;
  /// Makes the device the calling thread's current one for the lifetime of the result.
  virtual std::shared_ptr<const void> make_current() = 0;

  /// Returns an event for the work that a caller's stream has now, for a call that runs later.
  virtual std::shared_ptr<Event> mark(Stream stream) = 0;
  /// Begins a call. Its work is queued on `stream`, or on the communicator's own stream if there is
  /// none, and runs after the work of earlier calls. A call with several streams begins once for
  /// each: its work is queued on the first, after the work on all of them, and all of them continue
  /// after it. The device is the calling thread's current one until end().
  virtual void begin(std::optional<Stream> stream) = 0;
  /// Begins a call on a stream that is being captured into a graph. Its workspace belongs to the
  /// graph and is kept until this object ends. The call does not wait for earlier calls.
  virtual void begin_captured(Stream stream) = 0;
  virtual bool captured() const = 0;
  /// Makes the call's further work wait for the event. Called after begin().
  virtual void wait_for(const Event& event) = 0;
  virtual bool begun() const = 0;
  /// Returns the stream that the call's work is queued on. Call it after begin().
  virtual Stream stream() const = 0;
  /// Returns kernels of these types and this size of blocks, which live until end(). They are none
  /// for which Kernels::set_scale_bits() was called, because calls of a group differ in it. Call it
  /// after begin().
  virtual Kernels& kernels(DataType data_type, IndexType index_type, size_t block_size) = 0;
  /// Returns an event for the work queued so far. Call it after begin().
  virtual std::shared_ptr<Event> event() = 0;
  /// Queues `work`, after begin(), so that it runs after the work queued so far, but beside the
  /// work queued later. Later work waits for it only after wait_for() of the returned event. `work`
  /// must not use workspace.
  virtual std::shared_ptr<Event> run_concurrently(FunctionRef<void()> work) = 0;
  /// Returns whether the event has completed. Any thread may call it.
  virtual bool passed(const Event& event) = 0;

  // --- after begin(), for calls in stream order
  /// Writes the stamp at the head of every message.
  virtual void put_stamps(std::span<std::byte* const> messages, const Stamp& stamp) = 0;
  /// Raises the alarm for the lowest peer whose message begins with another stamp.
  virtual void check_stamps(std::span<const StampedMessage> messages, const Stamp& expected,
                            Alarm* alarm) = 0;
  /// Adds the counts to the device's totals. Raises the alarm if a message was malformed.
  virtual void add_counts(const CallCounts& counts, const DeviceReport& report) = 0;
  /// Records in the timeline how long the work that `work` queues takes.
  virtual void timed(const char* name, size_t bytes, FunctionRef<void()> work) = 0;

  /// Ends a call, whose work may still run. With `failed`, waits for all queued work. If the device
  /// is lost, the next begin(), order_after_calls() or wait() throws.
  virtual void end(bool failed) noexcept = 0;

  /// Makes the stream's further work run after the work of all calls that have ended.
  virtual void order_after_calls(Stream stream) = 0;
  /// Waits for the work of all calls that have ended.
  virtual void wait() = 0;
  /// Abandons the workspace that holds messages, because a peer may still access it. Returns its
  /// size in bytes.
  virtual size_t leak() noexcept = 0;
  /// Waits for the spans that are not yet in the timeline and adds them.
  virtual void finish_timeline() noexcept = 0;
};

/// Creates a communicator's share of a device. `timeline` may be null, else it must outlive the
/// result.
std::unique_ptr<Device> make_device(int number, MessageLocation messages, Timeline* timeline);

}  // namespace sparsecoll
