// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages back to entries (kernels/wire.hpp). Their bytes may be anything: whatever they are,
// nothing outside of them is read and nothing outside of the buffers is written. A message is cut
// into slots, as many as its size deserves, which blocks take:
//
// 1. The header is checked; from then on its numbers are known to fit the bytes and the buffer.
//    Each slot writes its share of the values, and of the indices where all are there. Where
//    entries are counted, as bits of words, it adds up its share of the counts.
// 2. When all have, each slot finds by these sums where its share of the entries begins, and goes
//    through the counts from there on, a tile at a time (groups.cuh): sums over the tile say which
//    entries are whose.
// 3. When all have, a warp for each message puts together what its slots have seen: a fault, or
//    the number of entries.
//
// One cooperative launch for every 50 messages or so, which travel in its parameters. Reads the
// messages once, but for counts, which are read up to three times, and writes the entries once.
// They are written before it is known whether all of them are sound; the count of a message that
// is not is 0.

#include <cooperative_groups.h>

#include "kernels/cuda/merge/groups.cuh"
#include "kernels/cuda/merge/table.cuh"

namespace sparsecoll::cuda {

/// What a slot has seen.
struct SlotState {
  uint64_t entries;  ///< by its share of the counts
  bool fault;
};

/// What one launch does.
template <class T, class I>
struct Inbox {
  Rows<Arrival<T, I>> arrivals;
  unsigned messages;
  unsigned slots;    ///< of all messages
  SlotState* state;  ///< of all slots
  uint64_t* fault;

  __device__ const Arrival<T, I>& of_slot(unsigned slot) const {
    const auto behind = [&](unsigned m) { return arrivals.row[m].first_slot > slot; };
    return arrivals.row[first_where(1u, messages, behind) - 1];
  }
  __device__ bool aligned(unsigned slot) const {
    return reinterpret_cast<uintptr_t>(of_slot(slot).message.bytes.data()) % 8 == 0;
  }
};

struct UnpackStorage {
  GroupTile tile;
  GroupAt begin;  ///< where to look first
};

/// The share of one slot; called by all threads of its block.
template <class T, class I, class Integers>
class Slot {
 public:
  __device__ Slot(const Inbox<T, I>& inbox, unsigned slot, UnpackStorage& storage)
      : arrival_(inbox.of_slot(slot)),
        reader_(arrival_),
        own_(slot - arrival_.first_slot),
        state_(inbox.state + arrival_.first_slot),
        storage_(storage) {}

  __device__ void take(int step) const {
    if (step == 1)
      check_and_put();
    else
      put_counted();
  }

 private:
  __device__ void check_and_put() const {
    uint64_t entries = 0, all = 0;
    bool fault = !reader_.sound();
    if (!fault) {
      const Share share = share_of(reader_.nnz(), own_, arrival_.slots);
      reader_.put_values(share);
      if (reader_.counted()) {
        const Share groups = share_of(reader_.groups(), own_, arrival_.slots);
        for (size_t g = groups.begin + threadIdx.x; g < groups.end; g += kThreads) {
          entries += reader_.count(g);
          fault |= !reader_.fits(g);
        }
      } else {
        reader_.put_indices(share);
      }
    }
    BlockSum<uint64_t>(storage_.tile.sum).before(entries, &all);
    fault = __syncthreads_or(fault);
    if (threadIdx.x == 0) state_[own_] = {all, fault};
  }

  __device__ void put_counted() const {
    if (!reader_.sound() || !reader_.counted()) return;
    const Share share = share_of(reader_.nnz(), own_, arrival_.slots);
    bool fault = find(share.begin) != reader_.nnz();
    if (!fault && share.begin < share.end) fault = !put_indices(share);
    fault = __syncthreads_or(fault);
    if (threadIdx.x == 0) state_[own_].fault |= fault;
  }

  /// Leaves in the storage which groups to look at for entry j, and returns how many entries all
  /// groups have.
  __device__ uint64_t find(uint64_t j) const {
    uint64_t before = 0;
    for (unsigned tile = 0; tile < arrival_.slots; tile += kThreads) {
      const unsigned slot = tile + threadIdx.x;
      const uint64_t entries = slot < arrival_.slots ? state_[slot].entries : 0;
      uint64_t all = 0;
      const uint64_t first = before + BlockSum<uint64_t>(storage_.tile.sum).before(entries, &all);
      if (j >= first && j - first < entries) {
        storage_.begin = {share_of(reader_.groups(), slot, arrival_.slots).begin, first};
      }
      before += all;
    }
    __syncthreads();
    return before;
  }

  /// Whether all are sound.
  __device__ bool put_indices(const Share& share) const {
    bool sound = true;
    GroupAt begin = storage_.begin;
    while (begin.entries < share.end && begin.group < reader_.groups()) {
      const GroupAt end{begin.group + GroupTile::kGroups,
                        begin.entries + storage_.tile.count(reader_, begin)};
      const Share own{std::max(share.begin, begin.entries), std::min(share.end, end.entries)};
      if (own.begin < own.end) sound &= storage_.tile.put_bits(reader_, begin, own);
      begin = end;
      __syncthreads();  // before the next tile's
    }
    return sound;
  }

  const Arrival<T, I>& arrival_;
  const MessageReader<T, I, Integers> reader_;
  const unsigned own_;
  SlotState* const state_;  ///< of the message's slots
  UnpackStorage& storage_;
};

/// Step 3.
template <class T, class I>
__device__ void publish_messages(const Inbox<T, I>& inbox) {
  for (unsigned m = blockIdx.x * kWarps + threadIdx.x / 32; m < inbox.messages;
       m += gridDim.x * kWarps) {
    const Arrival<T, I>& arrival = inbox.arrivals.row[m];
    bool fault = false;
    for (unsigned slot = threadIdx.x % 32; slot < arrival.slots; slot += 32)
      fault |= inbox.state[arrival.first_slot + slot].fault;
    fault = __any_sync(kFullWarp, fault);
    if (threadIdx.x % 32 != 0) continue;
    *arrival.out.nnz = fault ? 0 : MessageReader<T, I, Anywhere>(arrival).nnz();
    if (fault) add_to(inbox.fault, 1);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    unpack_messages(const __grid_constant__ Inbox<T, I> inbox) {
  __shared__ UnpackStorage storage;
  for (int step = 1; step <= 2; ++step) {
    for (unsigned slot = blockIdx.x; slot < inbox.slots; slot += gridDim.x) {
      if (inbox.aligned(slot))
        Slot<T, I, Aligned>(inbox, slot, storage).take(step);
      else
        Slot<T, I, Anywhere>(inbox, slot, storage).take(step);
    }
    cooperative_groups::this_grid().sync();
  }
  publish_messages(inbox);
}

/// The messages of one launch, cut into about as many slots as blocks run at once.
template <class T, class I>
Inbox<T, I> inbox_of(const Backend& backend, std::span<const Message> messages,
                     std::span<const SparseBuffer> out) {
  constexpr size_t kSmallest = 8192;  // bytes of a slot that another would not help
  size_t bytes = 0;
  for (const Message& message : messages) bytes += message.bytes.size();
  const size_t blocks = size_t{kResident} * backend.multiprocessors();
  const size_t spare = blocks > messages.size() ? blocks - messages.size() : 1;
  const size_t each = std::max(kSmallest, bytes / spare + 1);
  Inbox<T, I> inbox{};
  inbox.messages = static_cast<unsigned>(messages.size());
  for (size_t m = 0; m < messages.size(); ++m) {
    const auto slots = static_cast<unsigned>(1 + messages[m].bytes.size() / each);
    inbox.arrivals.row[m] = {messages[m], Output<Accumulation<T>, I>(out[m]), inbox.slots, slots};
    inbox.slots += slots;
  }
  return inbox;
}

template <class T, class I>
void unpack_all(Backend& backend, std::span<const Message> messages,
                std::span<const SparseBuffer> out, uint64_t* fault) {
  for (size_t done = 0; done < messages.size();) {
    const Arena::Scope scope(backend.arena());
    const size_t n = std::min(messages.size() - done, Rows<Arrival<T, I>>::kMost);
    Inbox<T, I> inbox = inbox_of<T, I>(backend, messages.subspan(done, n), out.subspan(done, n));
    inbox.state = backend.arena().take<SlotState>(inbox.slots);
    inbox.fault = fault;
    launch_together(backend, inbox.slots, unpack_messages<T, I>, inbox);
    done += n;
  }
}

}  // namespace sparsecoll::cuda
