// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The places that a communicator works in: the host, and at most one device.
#include <climits>

#include "api/communicator.hpp"
#include "api/execution_context.hpp"
#include "calls/framed/channel.hpp"

namespace sparsecoll {

namespace {
constexpr int kUndecided = INT_MIN;
}

int first_device(int configured) {
  if (configured != INT_MIN) return configured;
  // Where devices are in use it is the current one. Else the first buffer on one decides: to ask
  // CUDA would load it into programs that never use it.
  const int current = current_device();
  return current == kHost ? kUndecided : current;
}

int Communicator::device() const {
  const int decided = device_;
  return decided == kUndecided ? current_device() : decided;
}

bool Communicator::works_on(int device) {
  int expected = kUndecided;
  return device_.compare_exchange_strong(expected, device) || expected == device;
}

Device& Communicator::device_end(int device) {
  if (!device_end_) {
    device_end_ =
        make_device(device, link_->device() ? MessageLocation::on_device : MessageLocation::on_host,
                    timeline_.get());
    device_seen_ = device_end_.get();
    // What comes for the device can be copied there while more is coming.
    if (Channel* channel = link_->channel())
      channel->transport().pool().take_large_from(device_end_->page_locked());
  }
  return *device_end_;
}

void Communicator::land_on_device() {
  if (Channel* channel = link_->channel(); channel && !std::exchange(lands_, true))
    channel->transport().set_device_memory(device_end_->landing());
}

bool Communicator::gives_device_memory() const {
  Channel* const channel = link_->channel();
  return channel && channel->transport().takes_device_memory();
}

std::shared_ptr<const void> Communicator::stay_on_device() {
  Device* const device = device_end();
  return device && gives_device_memory() ? device->stay_current() : nullptr;
}

void Communicator::wait_for_device(const std::optional<Stream>& stream) {
  Device* const device = device_end();
  if (!device) return;
  if (stream) {
    refuse_capture(device->number(), *stream);
    return device->order(*stream);
  }
  try {
    device->wait();
  } catch (const Error& error) {
    poison_and_throw(error);
  }
  check_healthy();  // what was interrupted is done, too
}

Kernels& Communicator::kernels_at(int device, DataType type, IndexType index) {
  return device == kHost ? make_host_kernels(type, index, host_)
                         : device_end_->kernels(type, index);
}

const std::shared_ptr<Memory>& Communicator::memory_at(int device) {
  return device == kHost ? memory_ : device_end_->memory();
}

}  // namespace sparsecoll
