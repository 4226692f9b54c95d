// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <exception>
#include <initializer_list>
#include <memory>

#include "core/error.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

class Communicator;

/// A name such as "x" or "x.count". Its parts are joined only for an error message.
struct ArgumentName {
  ArgumentName(const char* argument, const char* member = "")
      : argument(argument), member(member) {}
  const char* argument;
  const char* member;
};
std::ostream& operator<<(std::ostream& out, const ArgumentName& name);

/// The arrays and the stream of a call. Allocates nothing.
class Buffers {
 public:
  struct Array {
    ArgumentName name{""};
    const void* at = nullptr;
  };

  Buffers(std::initializer_list<Array> arrays, Stream stream) : stream_(stream) {
    for (const Array& each : arrays) add(each);
  }
  /// Adds the arrays of a sparse vector, if the struct can be read.
  Buffers& add(const char* name, const sparsecollSparse_t* sparse) {
    if (!sparse || sparse->size < sizeof *sparse) return *this;
    add({{name, ".indices"}, sparse->indices});
    add({{name, ".values"}, sparse->values});
    return *this;
  }

  std::span<const Array> arrays() const { return {arrays_.data(), count_}; }
  Stream stream() const { return stream_; }

 private:
  void add(const Array& array) {
    if (array.at) arrays_[count_++] = array;
  }
  std::array<Array, 4> arrays_;
  size_t count_ = 0;
  Stream stream_;
};

/// The backend on which one call works, and the caller's earlier work that it waits for.
class ExecutionContext {
 public:
  /// Locates the buffers of a call that will run later, and orders the call behind the work that is
  /// on the caller's stream now. Called in the caller's thread. Keeps an error for locate().
  void mark(Communicator& communicator, const Buffers& buffers) noexcept;
  /// Finds the backend of the buffers. Throws InvalidArgument if they are on different ones, or on
  /// one that the communicator does not work on. Throws InvalidUsage if the stream is captured,
  /// unless the call may be part of a graph.
  void locate(Communicator& communicator, const Buffers& buffers);
  /// Begins the work on that backend.
  void begin(Communicator& communicator);
  void enter(Communicator& communicator, const Buffers& buffers) {
    locate(communicator, buffers);
    begin(communicator);
  }

  /// The number of the communicator's device, or kHost.
  int device() const { return device_; }
  /// Returns whether the work becomes part of a CUDA graph.
  bool captured() const { return captured_; }
  /// Allows capture. For calls that do not wait on the host if messages are in stream order.
  void allow_capture() { capturable_ = true; }
  void forbid_capture() { capturable_ = false; }
  /// Returns the kernels of the backend. Call begin() first. Only those of the host take blocks.
  Kernels& kernels(Communicator& communicator, DataType type, IndexType index,
                   size_t block_size = 1) const;

 private:
  void locate_in_graph(Stream stream);

  bool located_ = false;
  bool capturable_ = false;
  bool captured_ = false;
  int device_ = kHost;
  std::optional<Stream> stream_;  ///< none: the communicator's own stream, for calls without
                                  ///< buffers
  std::shared_ptr<Event> event_;
  std::exception_ptr failure_;  ///< the error of mark(), thrown when the call runs
};

/// Throws InvalidArgument for memory on a device.
void check_on_host(const ArgumentName& name, const void* at);

/// Throws InvalidUsage if this stream of that device is being captured.
void refuse_capture(int device, Stream stream);

/// Returns the name of a device's or the host's memory for messages.
std::string name_of_memory(int device);

}  // namespace sparsecoll
