// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/function_ref.hpp"
#include "core/memory.hpp"
#include "core/timeline.hpp"
#include "kernels/kernels.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll {

/// As the number of a device: the host.
inline constexpr int kHost = -1;

// What this process has of devices. A library that was built without CUDA has none
// (no_device.cpp), else see cuda/devices.cpp. All throw UnhandledCudaError.

/// How many; 0 where there is no driver.
int count_devices();
/// The calling thread's, where devices are in use already; else kHost.
int current_device();
/// Where memory lies: on which device, managed memory too, or on the host. Makes no context.
int device_of(const void* memory);
/// Whether a graph is captured from the stream of that device. Throws InvalidUsage for the legacy
/// one while a stream is captured that it would wait for.
bool is_captured(int device, Stream stream);
/// Whether it is the same stream in every thread.
bool is_one_stream(Stream stream);

/// Where messages are packed to and unpacked from: on the host for whoever sends them from there.
/// Kernels write them straight to the host's memory, so that what crosses the bus is what is sent;
/// large ones that can be sent from the device stay there (Kernels::hide_large()).
enum class MessageLocation { on_device, on_host };

/// What is on a stream at one moment. Shared by whoever waits for it.
class Event {
 public:
  virtual ~Event() = default;
};

/// One communicator's end of a device: its stream, workspace and kernels. One thread at a time, but
/// for mark(), order() and wait().
class Device {
 public:
  virtual ~Device() = default;

  virtual int number() const = 0;
  /// What outlives a call.
  virtual const std::shared_ptr<Memory>& memory() const = 0;
  /// The host's, page-locked, which the device sees, too. From any thread.
  virtual const std::shared_ptr<Memory>& page_locked() = 0;
  /// The device's, for messages that are moved there. From any thread.
  virtual const std::shared_ptr<Memory>& landing() = 0;
  /// The device is the calling thread's current one as long as this lives.
  virtual std::shared_ptr<const void> stay_current() = 0;

  /// What is on a caller's stream now, for a call that is queued.
  virtual std::shared_ptr<Event> mark(Stream stream) = 0;
  /// A call's work is queued on this stream, or on the communicator's own; where a call names
  /// several, on the first, after what is on all of them, and they go on after it. Comes after the
  /// work of earlier calls. The device is the calling thread's current one until end().
  virtual void begin(std::optional<Stream> stream) = 0;
  /// The same for a stream that a graph is captured from. Its workspace is the graph's from now on,
  /// so it stays until this ends, and earlier calls are not waited for.
  virtual void begin_captured(Stream stream) = 0;
  virtual bool captured() const = 0;
  /// After begin(): the work comes after that moment, too.
  virtual void wait_for(const Event& event) = 0;
  virtual bool begun() const = 0;
  /// After begin(): where the work is queued.
  virtual Stream stream() const = 0;
  /// After begin(); they live until end().
  virtual Kernels& kernels(DataType data_type, IndexType index_type) = 0;
  /// After begin(): what is queued now.
  virtual std::shared_ptr<Event> event() = 0;
  /// After begin(): what `work` queues, without workspace, comes after what is queued now, but what
  /// is queued next does not wait for it. Until follow().
  virtual std::shared_ptr<Event> run_concurrently(FunctionRef<void()> work) = 0;
  /// Whether all of that has run. From any thread.
  virtual bool passed(const Event& event) = 0;

  // --- after begin(), for calls in stream order
  /// Every one of the messages begins with the stamp.
  virtual void put_stamps(std::span<std::byte* const> messages, const Stamp& stamp) = 0;
  /// Raises the alarm for the first whose message begins with another stamp.
  virtual void check_stamps(std::span<const StampedMessage> messages, const Stamp& expected,
                            Alarm* alarm) = 0;
  /// Adds the counts up; raises the alarm for a fault.
  virtual void settle(const CallCounts& counts, const DeviceReport& books) = 0;
  /// Records in the timeline how long what `work` queues there takes.
  virtual void timed(const char* name, size_t bytes, FunctionRef<void()> work) = 0;

  /// Ends a call, whose work may still run. `failed`: waits for what was queued. A device that is
  /// lost is told by the next begin(), order() or wait().
  virtual void end(bool failed) noexcept = 0;

  /// What is queued on the stream from now on comes after the work of all calls that have ended.
  virtual void order(Stream stream) = 0;
  /// Until all of that is done.
  virtual void wait() = 0;
  /// Gives the workspace that messages lie in up for good; returns how many bytes.
  virtual size_t leak() noexcept = 0;
  /// Waits for what the timeline is still to hear of.
  virtual void record_rest() noexcept = 0;
};

/// The timeline, if there is one, outlives it.
std::unique_ptr<Device> make_device(int number, MessageLocation messages, Timeline* timeline);

}  // namespace sparsecoll
