// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace sparsecoll {

/// An offer of memory to the other processes of the machine, and to the threads of this process.
/// Its bytes are sent as they are.
struct MemoryOffer {
  uint64_t process = 0;  ///< 0: nothing is offered
  uint64_t address = 0;
  uint64_t mark_address = 0;
  uint64_t mark = 0;  ///< a random number, which lies at mark_address while the memory may be read
};

/// Offers memory from its construction to its end. The mark protects readers in another pid
/// namespace, or on another machine: they do not find it there.
class OfferedMemory {
 public:
  explicit OfferedMemory(const void* memory);
  ~OfferedMemory() { mark_.store(0); }
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;

  const MemoryOffer& offer() const { return offer_; }

 private:
  std::atomic<uint64_t> mark_;
  MemoryOffer offer_;
};

/// Copies memory that is offered, from `begin` bytes behind its address. Returns false if that is
/// not possible or not permitted, or if the offer has ended before the copy was complete; `into` is
/// undefined then. Memory that its owner has freed does no harm: the system does the copy, which
/// then fails.
bool read_offered(const MemoryOffer& offer, size_t begin, Bytes into) noexcept;
/// Copies groups of `count` elements of `size` bytes one after another, as read_offered() copies a
/// range. `begins` are in elements.
bool read_offered(const MemoryOffer& offer, std::span<const size_t> begins, size_t count,
                  size_t size, std::byte* into) noexcept;

}  // namespace sparsecoll
