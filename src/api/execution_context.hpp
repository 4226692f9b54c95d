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

/// "x", or "x.count": put together only when an error names it.
struct ArgumentName {
  ArgumentName(const char* argument, const char* member = "")
      : argument(argument), member(member) {}
  const char* argument;
  const char* member;
};
std::ostream& operator<<(std::ostream& out, const ArgumentName& name);

/// The arrays and the stream that a call was given. Takes no memory.
class Buffers {
 public:
  struct Array {
    ArgumentName name{""};
    const void* at = nullptr;
  };

  Buffers(std::initializer_list<Array> arrays, Stream stream) : stream_(stream) {
    for (const Array& each : arrays) add(each);
  }
  /// The arrays of a sparse vector, where the struct can be read.
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

/// Where one call works: with the host's memory or on the communicator's device, and after what.
class ExecutionContext {
 public:
  /// On the caller's thread, for a call that runs later: it comes after what is on the stream now.
  void mark(Communicator& communicator, const Buffers& buffers) noexcept;
  /// Finds out where the buffers are. Throws InvalidArgument where they are not in one place, or
  /// not in one that the communicator works in, InvalidUsage for a stream that is captured, unless
  /// the call is one that a graph can have.
  void locate(Communicator& communicator, const Buffers& buffers);
  /// Begins the work there; its workspace is the call's.
  void begin(Communicator& communicator);
  void enter(Communicator& communicator, const Buffers& buffers) {
    locate(communicator, buffers);
    begin(communicator);
  }

  /// kHost, or the communicator's.
  int device() const { return device_; }
  /// What it does becomes part of a graph.
  bool captured() const { return captured_; }
  /// For a call that does not wait on the host where messages go in stream order.
  void allow_capture() { capturable_ = true; }
  void forbid_capture() { capturable_ = false; }
  /// After begin().
  Kernels& kernels(Communicator& communicator, DataType type, IndexType index) const;

 private:
  void locate_in_graph(Stream stream);

  bool located_ = false;
  bool capturable_ = false;
  bool captured_ = false;
  int device_ = kHost;
  std::optional<Stream> stream_;  ///< none: the communicator's own, for calls without buffers
  std::shared_ptr<Event> event_;
  std::exception_ptr failure_;  ///< of mark()
};

/// Throws InvalidArgument for memory of a device.
void check_on_host(const ArgumentName& name, const void* at);

/// Throws InvalidUsage for a stream of that device from which a graph is captured.
void refuse_capture(int device, Stream stream);

/// What to call a place in a message.
std::string name_of_memory(int device);

}  // namespace sparsecoll
