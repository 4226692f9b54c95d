// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packs the messages of a sparse vector's regions; kernels/wire.hpp describes the format.
//
// 1. Plan. One block, with a thread for each region, finds the region's entries, the representation
//    and the size of its message and, by a prefix sum, the offset of the message in the slab. The
//    regions are passed in launch parameters, 240 at a time.
// 2. Write. The slab is cut into runs of up to 2 KB, whichever messages lie there, so that all
//    warps have work even if one region has most of the entries. A run of bits takes several
//    times as long as one of values. So a warp that is done takes the next run that no warp has
//    taken. One thread makes each 8-byte word: of a header, of indices with their padding, or of
//    values.
//
// One launch for every 240 regions, and one to write. If the host sends the messages, there is one
// launch for every chunk of the slab instead: the host knows the sizes after step 1 and can send a
// chunk as soon as it is written, while the next are in progress. The values are read once, the
// indices twice if they are coded, and the messages are written once. One thread collects the low
// bits of a word. A warp builds bitmaps and the unary part of codes in shared memory: it searches
// for its first entry and then reads the entries of 64 words in order, 256 at a time.

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/wire/int8.cuh"
#include "kernels/cuda/wire/message_writer.cuh"

namespace sparsecoll::cuda {

/// The regions of one launch of plan_messages().
template <class W, class T, class I>
struct PlanTask {
  ParameterArray<Region> regions;
  unsigned n;
  size_t done;  ///< messages of earlier launches
  View<Accumulation<T>, I> in;
  size_t block_size;
  unsigned scale_bits;
  MessagePlan* plans;  ///< the plans of all messages of the call, like out.offset and out.size
  uint64_t* taken;     ///< set to 0 for the next step
  Packets out;
};

/// Returns the number of entries before index i.
template <class T, class I>
__device__ size_t position(const View<T, I>& in, uint64_t i) {
  const size_t n = in.nnz.get();
  return in.index ? count_below(in.index, n, i) : static_cast<size_t>(std::min<uint64_t>(i, n));
}

template <class W, class T, class I>
__global__ void __launch_bounds__(kThreads)
    plan_messages(const __grid_constant__ PlanTask<W, T, I> task) {
  static_assert(ParameterArray<Region>::kCapacity <= kThreads);
  __shared__ BlockSum<uint64_t>::Storage storage;
  const unsigned t = threadIdx.x;
  const auto next_offset = [](uint64_t end) { return align_up(end, 8) + kHeadroom; };
  MessagePlan own{};
  uint64_t size = 0, before = kHeadroom, all = 0;
  if (t < task.n) {
    own.region = task.regions.row[t];
    own.first = position(task.in, own.region.begin);
    const RegionFormat format(own.region.length(), task.block_size,
                              {task.scale_bits, own.region.begin});
    own.shape = format.shape(position(task.in, own.region.end) - own.first, data_type_of<W>());
    own.representation = wire_choose(own.shape);
    size = wire_bytes(own.representation, own.shape);
  }
  if (t == 0) *task.taken = 0;
  if (task.done > 0)
    before = next_offset(task.out.offset[task.done - 1] + task.out.size[task.done - 1]);
  own.offset =
      before + BlockSum<uint64_t>(storage).before(t < task.n ? next_offset(size) : 0, &all);
  if (t < task.n) {
    task.plans[task.done + t] = own;
    task.out.offset[task.done + t] = own.offset;
    task.out.size[task.done + t] = size;
  }
}

/// All messages of a call after step 1.
template <class W, class T, class I>
struct PlannedMessages {
  View<Accumulation<T>, I> in;
  const MessagePlan* plans;
  size_t messages;
  Packets out;
  const std::byte* encoded;  ///< values of 8 bits, at the positions of the slab
  uint64_t* taken;  ///< runs that warps have taken besides their first; null: in equal shares
};

/// Writes one chunk of the slab in runs of `run_words` words. No more than kResidentBlocks thread
/// blocks share a multiprocessor (blocks_for()). If the assembler had to leave registers for more,
/// it would spill some.
template <class W, class T, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    write_messages(PlannedMessages<W, T, I> all, WordRange chunk, unsigned run_words) {
  const Packets& out = all.out;
  const auto words_to = [&](size_t p) { return (out.offset[p] + out.size[p] + 7) / 8; };
  const uint64_t end = std::min(words_to(all.messages - 1), chunk.end);
  const uint64_t warps = uint64_t{gridDim.x} * kWarps;
  uint64_t run = uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  while (chunk.begin + run * run_words < end) {
    // asked for here, so that it has arrived when this run is written
    uint64_t next = run + warps;
    if (all.taken) next = threadIdx.x % 32 == 0 ? warps + add_to(all.taken, 1) : 0;
    const uint64_t begin = chunk.begin + run * run_words;
    const WordRange words{begin, std::min(begin + run_words, end)};
    // The headroom before a message is longer than a word. So of all messages that begin at or
    // before this word, only the last can reach it.
    const size_t behind = lower_bound(out.offset, all.messages, begin * 8 + 1);
    for (size_t p = behind == 0 ? 0 : behind - 1; p < all.messages && out.offset[p] / 8 < words.end;
         ++p) {
      const WordRange part = words.within(out.offset[p] / 8, words_to(p));
      if (part.begin < part.end)
        MessageWriter<W, T, I>(all.in, all.plans[p], out.slab, all.encoded).write(part);
    }
    run = __shfl_sync(kFullWarp, next, 0);
  }
}

/// Queues a launch that writes one chunk. If it is long, a warp gets several runs, so that those of
/// bits, which are slow, do not all end last.
template <class W, class T, class I>
void write_chunk(Backend& backend, const PlannedMessages<W, T, I>& all, const WordRange& chunk) {
  constexpr uint64_t kMostWindows = 4, kRuns = 4;
  const uint64_t n = chunk.end - chunk.begin;
  const uint64_t warps = uint64_t{kResidentBlocks} * kWarps * backend.multiprocessors();
  const uint64_t windows =
      std::clamp<uint64_t>(n / (kRuns * warps * kWindowWords), 1, kMostWindows);
  const auto run_words = static_cast<unsigned>(windows * kWindowWords);
  launch(backend, blocks_for(backend, n, run_words * kWarps), write_messages<W, T, I>, all, chunk,
         run_words);
}

/// Writes the slab chunk by chunk for a host that sends it. The slab may be host or device memory.
template <class W, class T, class I>
void write_for_host(Backend& backend, const PlannedMessages<W, T, I>& all) {
  constexpr size_t kMaxChunks = 64;
  const std::span<const uint64_t> counts(all.out.offset, 2 * all.messages);
  backend.staging().copy_counts(counts, backend.slabs().take<uint64_t>(counts.size()),
                                backend.stream());
  const size_t bytes = std::max(backend.tuning().chunk, all.out.capacity / kMaxChunks);
  const uint64_t words = (bytes / 8 / kWindowWords + 1) * kWindowWords;
  for (uint64_t at = 0; at * 8 < all.out.capacity; at += words) {
    const WordRange chunk{at, at + words};
    const size_t end = std::min(chunk.end * 8, all.out.capacity);
    {
      const DeviceTimeline::Scope writing(backend.timeline(),
                                          {"pack", {"most_bytes", end - at * 8}}, backend.stream());
      write_chunk(backend, all, chunk);
    }
    backend.staging().record_written({all.out.slab + at * 8, end - at * 8}, backend.stream());
  }
}

/// Encodes the values of messages in workspace, if they are sent in 8 bits.
template <class W, class T, class I>
const std::byte* encode(Backend& backend, const PlanTask<W, T, I>& task, size_t messages) {
  if constexpr (std::is_same_v<W, Int8>) {
    std::byte* const encoded = zeroed<std::byte>(backend, task.out.capacity);
    launch(backend, blocks_for(backend, task.in.nnz.bound, kThreads),
           encode_int8<Accumulation<T>, I>, task.in, task.plans, messages, task.scale_bits,
           encoded);
    return encoded;
  } else {
    return nullptr;
  }
}

/// Packs all messages of a call. The slab's address is a multiple of 8.
template <class W, class T, class I>
void pack_all(Backend& backend, const View<Accumulation<T>, I>& in, const Kernels& kernels,
              std::span<const Region> regions, const Packets& out) {
  if (regions.empty()) return;
  const Arena::Scope scope(backend.arena());
  PlanTask<W, T, I> task{};
  task.in = in;
  task.block_size = kernels.block_size();
  task.scale_bits = kernels.scale_bits().value_or(0);
  task.out = out;
  task.plans = backend.arena().take<MessagePlan>(regions.size());
  task.taken = backend.arena().take<uint64_t>(1);
  for (; task.done < regions.size(); task.done += task.n) {
    const size_t n = std::min(regions.size() - task.done, ParameterArray<Region>::kCapacity);
    std::copy_n(regions.begin() + static_cast<ptrdiff_t>(task.done), n, task.regions.row);
    task.n = static_cast<unsigned>(n);
    launch(backend, 1, plan_messages<W, T, I>, task);
  }
  const bool for_host = backend.messages() == MessageLocation::on_host;
  const PlannedMessages<W, T, I> all{in,
                                     task.plans,
                                     regions.size(),
                                     out,
                                     encode(backend, task, regions.size()),
                                     for_host ? nullptr : task.taken};
  if (for_host)
    write_for_host(backend, all);
  else
    write_chunk(backend, all, {0, out.capacity / 8 + 1});
}

}  // namespace sparsecoll::cuda
