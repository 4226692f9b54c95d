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
// The system takes up to IOV_MAX = 1024 ranges at once. Fewer need less stack.
constexpr size_t kMostRanges = 256;

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

/// Copies at most kMostRanges ranges of equal length from another process to `into`, one behind the
/// other.
bool read_ranges(uint64_t process, std::span<const iovec> from, std::byte* into) noexcept {
  const size_t bytes = from.size() * from[0].iov_len;
  const iovec to{into, bytes};
  return process_vm_readv(static_cast<pid_t>(process), &to, 1, from.data(), from.size(), 0) ==
         static_cast<ssize_t>(bytes);
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
  // There is no random number, so nothing is offered.
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

bool read_offered(const MemoryOffer& offer, std::span<const size_t> begins, size_t count,
                  size_t size, std::byte* into) noexcept {
  if (offer.process == 0 || !has_mark(offer)) return false;
  iovec from[kMostRanges];
  while (!begins.empty()) {
    const size_t n = std::min(begins.size(), kMostRanges);
    for (size_t i = 0; i < n; ++i)
      from[i] = {reinterpret_cast<void*>(offer.address + begins[i] * size), count * size};
    if (!read_ranges(offer.process, {from, n}, into)) return false;
    begins = begins.subspan(n);
    into += n * count * size;
  }
  return has_mark(offer);
}

}  // namespace sparsecoll
