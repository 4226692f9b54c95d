// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/execution_context.hpp"

#include <ostream>
#include <utility>

#include "api/communicator.hpp"

namespace sparsecoll {

std::ostream& operator<<(std::ostream& out, const ArgumentName& name) {
  return out << name.argument << name.member;
}

std::string name_of_memory(int device) {
  return device == kHost ? "the host's memory" : text("memory of device ", device);
}

void check_on_host(const ArgumentName& name, const void* at) {
  if (const int device = device_of(at); device != kHost)
    fail(sparsecollInvalidArgument, name, ": expected ", name_of_memory(kHost), ", got ",
         name_of_memory(device));
}

namespace {

/// Returns the device of all buffers, or the stream's device if there are no buffers.
int find(const Buffers& buffers, const Communicator& communicator) {
  const auto arrays = buffers.arrays();
  const auto only = communicator.link().device();
  if (arrays.empty())
    return only ? *only : buffers.stream() ? communicator.backends().device_number() : kHost;
  const int device = device_of(arrays[0].at);
  for (const Buffers::Array& each : arrays.subspan(1))
    if (const int other = device_of(each.at); other != device)
      fail(sparsecollInvalidArgument, each.name, ": expected ", name_of_memory(device), ", where ",
           arrays[0].name, " is, got ", name_of_memory(other));
  return device;
}

}  // namespace

void refuse_capture(int device, Stream stream) {
  if (is_captured(device, stream))
    fail(sparsecollInvalidUsage,
         "stream: expected one that is not captured, since this call waits on the host, got one "
         "that is");
}

void ExecutionContext::mark(Communicator& communicator, const Buffers& buffers) noexcept {
  try {
    locate(communicator, buffers);
    if (device_ != kHost) event_ = communicator.backends().device(device_).mark(buffers.stream());
  } catch (...) {
    failure_ = std::current_exception();  // the peers are notified when the call runs
  }
}

void ExecutionContext::locate(Communicator& communicator, const Buffers& buffers) {
  if (failure_) std::rethrow_exception(failure_);
  if (std::exchange(located_, true)) return;  // mark() has located them in the caller's thread
  device_ = find(buffers, communicator);
  if (!buffers.arrays().empty() || buffers.stream()) stream_ = buffers.stream();
  const auto only = communicator.link().device();
  if (only && device_ != *only)
    fail(sparsecollInvalidArgument, buffers.arrays()[0].name, ": expected ", name_of_memory(*only),
         ", that of the NCCL communicator, got ", name_of_memory(device_));
  if (device_ == kHost) {
    if (buffers.stream())
      fail(sparsecollInvalidArgument, "stream: expected NULL with host buffers, got ",
           static_cast<const void*>(buffers.stream()));
    return;
  }
  if (!communicator.backends().works_on(device_)) {
    const int own = communicator.backends().device_number();
    fail(sparsecollInvalidArgument, buffers.arrays()[0].name, ": expected ",
         own == kHost ? "" : "the host's memory or ", name_of_memory(own),
         ", the communicator's, got ", name_of_memory(device_));
  }
  if (!stream_) return;
  if (only && capturable_ && !communicator.queue())
    locate_in_graph(*stream_);
  else if (!event_)
    refuse_capture(device_, *stream_);
}

void ExecutionContext::locate_in_graph(Stream stream) {
  captured_ = is_captured(device_, stream);
  if (captured_ && !is_same_in_all_threads(stream))
    fail(sparsecollInvalidUsage,
         "stream: expected one that is the same in all threads where a graph is captured, got "
         "cudaStreamPerThread");
}

void ExecutionContext::begin(Communicator& communicator) {
  if (failure_) std::rethrow_exception(failure_);
  if (device_ == kHost) return;
  Device& device = communicator.backends().device(device_);
  if (captured_) return device.begin_captured(*stream_);
  device.begin(event_ ? std::nullopt : stream_);
  if (event_) device.wait_for(*event_);
  communicator.backends().receive_on_device();
}

Kernels& ExecutionContext::kernels(Communicator& communicator, DataType type, IndexType index,
                                   size_t block_size) const {
  return communicator.backends().kernels(device_, type, index, block_size);
}

}  // namespace sparsecoll
