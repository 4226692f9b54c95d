// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>

#include "api/config.hpp"
#include "calls/link.hpp"
#include "core/arena.hpp"
#include "kernels/device.hpp"
#include "kernels/host/backend.hpp"

namespace sparsecoll {

/// The host and at most one device, on which the calls of one communicator work: their memory,
/// workspace and kernels. Only the thread that is inside the communicator, or its queue's thread,
/// may use it, but any thread may call device_number(), works_on() and device().
class Backends {
 public:
  /// `link` outlives all use of this object, `timeline` the object itself. A null timeline records
  /// nothing.
  Backends(const Config& config, Link& link, const ThreadPlacement& placement, Timeline* timeline);

  /// Returns the number of threads that select, including the calling thread.
  size_t threads() const { return host_.threads(); }

  /// Bounds the host's selections; see host::Backend::set_deadline().
  Deadline set_deadline(const Deadline& deadline) { return host_.set_deadline(deadline); }
  /// Workspace on the host.
  Arena& arena() { return arena_; }
  /// Returns the number of the communicator's device. While that is undecided, returns the current
  /// device of the calling thread. Returns kHost where there is no device.
  int device_number() const;
  /// Returns whether the communicator works on this device. If its device is undecided, this one
  /// becomes its device.
  bool works_on(int device);
  /// Returns the device; null before the first call with memory on it.
  Device* device() { return device_pointer_; }
  /// Returns the device of this number, on which the communicator works. The first call creates it.
  Device& device(int number);
  /// Returns the kernels of the host, or those of the device, on which a call must have begun.
  Kernels& kernels(int device, DataType type, IndexType index, size_t block_size = 1);
  /// Returns the memory, of the host or of the device, for objects that outlive a call.
  const std::shared_ptr<Memory>& memory(int device);

  /// Lets messages arrive directly in memory of the device from now on. The device is the calling
  /// thread's current one.
  void receive_on_device();
  /// Returns whether the link sends directly from memory of the device.
  bool sends_from_device() const;
  /// Makes the device the calling thread's current one while the returned object lives, if messages
  /// may be on their way from or to its memory. Calls with host memory need this.
  std::shared_ptr<const void> keep_device_current();
  /// Gives up all workspace for good. Returns its size in bytes.
  size_t leak_workspace() noexcept;

 private:
  Link& link_;
  FramedLink* const framed_link_;  ///< link_, if messages are received by the host; else null
  Timeline* const timeline_;
  std::shared_ptr<Memory> memory_;
  Arena arena_{*memory_};
  std::atomic<int> device_number_;
  std::unique_ptr<Device> device_;
  std::atomic<Device*> device_pointer_{nullptr};  ///< device_.get(), for all threads
  bool receives_on_device_ = false;
  host::Backend host_;
};

/// A scope that gives back the workspace taken in it, on the host and on the device, and that ends
/// the device's work of a call. The call's deadline limits the host's computations in the scope.
class Workspace {
 public:
  explicit Workspace(Backends& backends, const Deadline& deadline = {})
      : backends_(backends), scope_(backends.arena()), outer_(backends.set_deadline(deadline)) {}
  ~Workspace() {
    backends_.set_deadline(outer_);
    if (Device* const device = backends_.device())
      device->end(std::uncaught_exceptions() > exceptions_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

 private:
  Backends& backends_;
  const Arena::Scope scope_;
  const Deadline outer_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace sparsecoll
