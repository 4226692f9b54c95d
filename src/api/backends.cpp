// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/backends.hpp"

#include <climits>
#include <utility>

#include "calls/framed/framed_link.hpp"
#include "core/numa_memory.hpp"

namespace sparsecoll {

namespace {

constexpr int kUndecided = INT_MIN;

/// Returns the device of a communicator that was configured with this number. INT_MIN stands for
/// the current device. If this process uses no device yet, the first buffer on a device decides: a
/// query of CUDA would load it into programs that never use it.
int first_device(int configured) {
  if (configured != INT_MIN) return configured;
  const int current = current_device();
  return current == kHost ? kUndecided : current;
}

/// Returns how many threads select: the configured number, or this rank's share of the CPUs on
/// which the calling thread may run.
size_t threads_of(const Config& config, const CpuShare& share) {
  return config.threads ? static_cast<size_t>(*config.threads) : count_cpus() / share.ranks;
}

}  // namespace

Backends::Backends(const Config& config, Link& link, const ThreadPlacement& placement,
                   Timeline* timeline)
    : link_(link),
      framed_link_(link_as<FramedLink>(link)),
      timeline_(timeline),
      memory_(std::make_shared<NumaMemory>(placement)),
      device_number_(link.device().value_or(first_device(config.values.device))),
      host_(arena_, config.simd.value_or(host::best_simd()), threads_of(config, placement.share),
            placement) {}

int Backends::device_number() const {
  const int decided = device_number_;
  return decided == kUndecided ? current_device() : decided;
}

bool Backends::works_on(int device) {
  int expected = kUndecided;
  return device_number_.compare_exchange_strong(expected, device) || expected == device;
}

Device& Backends::device(int number) {
  if (!device_) {
    device_ = make_device(
        number, link_.device() ? MessageLocation::on_device : MessageLocation::on_host, timeline_);
    device_pointer_ = device_.get();
    link_.attach(*device_);
  }
  return *device_;
}

Kernels& Backends::kernels(int device, DataType type, IndexType index, size_t block_size) {
  return device == kHost ? make_host_kernels(type, index, host_, block_size)
                         : device_->kernels(type, index, block_size);
}

const std::shared_ptr<Memory>& Backends::memory(int device) {
  return device == kHost ? memory_ : device_->memory();
}

void Backends::receive_on_device() {
  if (framed_link_ && !std::exchange(receives_on_device_, true))
    framed_link_->channel().transport().set_device_memory(device_->receive_memory());
}

bool Backends::sends_from_device() const {
  return framed_link_ && framed_link_->channel().transport().takes_device_memory();
}

std::shared_ptr<const void> Backends::keep_device_current() {
  Device* const used = device();
  return used && sends_from_device() ? used->make_current() : nullptr;
}

size_t Backends::leak_workspace() noexcept {
  Device* const used = device();
  return arena_.leak() + (used ? used->leak() : 0);
}

}  // namespace sparsecoll
