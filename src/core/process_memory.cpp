// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/process_memory.hpp"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace sparsecoll {

namespace {

// The system copies at most about 2 GiB at once.
constexpr size_t kMostAtOnce = size_t{1} << 30;

bool read_process(uint64_t process, uint64_t address, Bytes into) noexcept {
  while (!into.empty()) {
    const size_t bytes = std::min(into.size(), kMostAtOnce);
    const iovec to{into.data(), bytes};
    const iovec from{reinterpret_cast<void*>(address), bytes};
    const ssize_t copied = process_vm_readv(static_cast<pid_t>(process), &to, 1, &from, 1, 0);
    if (copied <= 0) return false;
    address += static_cast<size_t>(copied);
    into = into.subspan(static_cast<size_t>(copied));
  }
  return true;
}

bool has_mark(const MemoryOffer& offer) noexcept {
  uint64_t mark = 0;
  return read_process(offer.process, offer.mark_address,
                      std::as_writable_bytes(std::span(&mark, 1))) &&
         mark == offer.mark;
}

}  // namespace

OfferedMemory::OfferedMemory(const void* memory) {
  uint64_t mark = 0;
  // Without a random number nothing is offered.
  if (getrandom(&mark, sizeof mark, GRND_NONBLOCK) != sizeof mark || mark == 0) mark = 0;
  mark_.store(mark);
  if (mark != 0)
    offer_ = {static_cast<uint64_t>(getpid()), reinterpret_cast<uint64_t>(memory),
              reinterpret_cast<uint64_t>(&mark_), mark};
}

bool read_offered(const MemoryOffer& offer, size_t begin, Bytes into) noexcept {
  return offer.process != 0 && has_mark(offer) &&
         read_process(offer.process, offer.address + begin, into) && has_mark(offer);
}

}  // namespace sparsecoll
