// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The messages of a sparse vector's regions, as kernels/wire.hpp describes them:
//
// 1. One block finds, with a thread for each region, which entries the region has, the
//    representation, the size and, by a sum over regions, the place in the slab. The regions travel
//    in the launch's parameters, 240 at a time.
// 2. All warps write the slab, 2 KB of it at a time, whatever part of whichever messages that is: a
//    region with most of the entries is shared out like many small ones. Each 8 bytes of a message
//    are made by one thread: of a header, of indices with their padding, or of values.
//
// One launch for every 240 regions and one more, or, where the host sends the messages, one for
// every piece of the slab: the host knows the sizes after step 1 and has each piece when it is
// written, while the next are on their way. Reads the values once, the indices twice where they are
// coded, and writes the messages once. A thread collects the low bits of a word. Bitmaps and the
// unary part of codes are put together in shared memory by a warp, which searches for its first
// entry and then reads those of 32 words in their order.

#include "kernels/cuda/merge/table.cuh"
#include "kernels/cuda/wire/message_writer.cuh"

namespace sparsecoll::cuda {

/// Some of a call's regions, with what is known of the messages before them.
template <class W, class T, class I>
struct Plan {
  Rows<Region> regions;
  unsigned n;
  size_t done;  ///< messages before these
  View<Accumulation<T>, I> in;
  Draft* draft;  ///< of all messages, as are out.offset and out.size
  Packets out;
};

/// How many entries lie before index i.
template <class T, class I>
__device__ size_t position(const View<T, I>& in, uint64_t i) {
  const size_t n = in.nnz.get();
  return in.index ? count_below(in.index, n, i) : static_cast<size_t>(std::min<uint64_t>(i, n));
}

template <class W, class T, class I>
__global__ void __launch_bounds__(kThreads)
    plan_messages(const __grid_constant__ Plan<W, T, I> plan) {
  static_assert(Rows<Region>::kMost <= kThreads);
  __shared__ BlockSum<uint64_t>::Storage storage;
  const unsigned t = threadIdx.x;
  const auto place_after = [](uint64_t end) { return align_up(end, 8) + kHeadroom; };
  Draft own{};
  uint64_t size = 0, before = kHeadroom, all = 0;
  if (t < plan.n) {
    own.region = plan.regions.row[t];
    own.first = position(plan.in, own.region.begin);
    own.shape = {position(plan.in, own.region.end) - own.first, own.region.length(), sizeof(W)};
    own.representation = wire_choose(own.shape);
    size = wire_bytes(own.representation, own.shape);
  }
  if (plan.done > 0)
    before = place_after(plan.out.offset[plan.done - 1] + plan.out.size[plan.done - 1]);
  own.offset =
      before + BlockSum<uint64_t>(storage).before(t < plan.n ? place_after(size) : 0, &all);
  if (t < plan.n) {
    plan.draft[plan.done + t] = own;
    plan.out.offset[plan.done + t] = own.offset;
    plan.out.size[plan.done + t] = size;
  }
}

inline constexpr uint64_t kRun = 256;  ///< words that a warp writes at a time

/// All messages of a call, once planned.
template <class W, class T, class I>
struct Planned {
  View<Accumulation<T>, I> in;
  const Draft* draft;
  size_t messages;
  Packets out;
};

/// A piece of the slab.
template <class W, class T, class I>
__global__ void __launch_bounds__(kThreads) write_messages(Planned<W, T, I> all, Words piece) {
  const Packets& out = all.out;
  const auto words_to = [&](size_t p) { return (out.offset[p] + out.size[p] + 7) / 8; };
  const uint64_t end = std::min(words_to(all.messages - 1), piece.end);
  const uint64_t warps = uint64_t{gridDim.x} * kWarps;
  uint64_t begin = piece.begin + (uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kRun;
  for (; begin < end; begin += warps * kRun) {
    // Headrooms are longer than a word, so that the message in front of the first that starts
    // behind this run's beginning is the first that this run can have a part of.
    const size_t behind = lower_bound(out.offset, all.messages, begin * 8 + 1);
    for (size_t p = behind == 0 ? 0 : behind - 1;
         p < all.messages && out.offset[p] / 8 < begin + kRun; ++p) {
      const Words part = Words{begin, begin + kRun}.within(out.offset[p] / 8, words_to(p));
      if (part.begin < part.end) MessageWriter<W, T, I>(all.in, all.draft[p], out.slab).write(part);
    }
  }
}

/// For a host that sends it, piece by piece, whosever memory it is.
template <class W, class T, class I>
void write_for_host(Backend& backend, const Planned<W, T, I>& all) {
  constexpr size_t kMost = 64;  // pieces
  const std::span<const uint64_t> counts(all.out.offset, 2 * all.messages);
  backend.ferry().bring(counts, backend.slabs().take<uint64_t>(counts.size()), backend.stream());
  const size_t bytes = std::max(backend.tuning().piece, all.out.capacity / kMost);
  const size_t runs = bytes / (kRun * 8) + 1;
  for (uint64_t at = 0; at * 8 < all.out.capacity; at += runs * kRun) {
    const Words piece{at, at + runs * kRun};
    const size_t end = std::min(piece.end * 8, all.out.capacity);
    {
      const DeviceTimeline::Span writing(backend.timeline(), {"pack", {"most_bytes", end - at * 8}},
                                         backend.stream());
      launch(backend, blocks_for(backend, runs * kRun, kRun * kWarps), write_messages<W, T, I>, all,
             piece);
    }
    backend.ferry().wrote({all.out.slab + at * 8, end - at * 8}, backend.stream());
  }
}

/// The slab starts at a multiple of 8.
template <class W, class T, class I>
void pack_all(Backend& backend, const View<Accumulation<T>, I>& in, std::span<const Region> regions,
              const Packets& out) {
  if (regions.empty()) return;
  const Arena::Scope scope(backend.arena());
  Plan<W, T, I> plan{};
  plan.in = in;
  plan.out = out;
  plan.draft = backend.arena().take<Draft>(regions.size());
  for (; plan.done < regions.size(); plan.done += plan.n) {
    const size_t n = std::min(regions.size() - plan.done, Rows<Region>::kMost);
    std::copy_n(regions.begin() + static_cast<ptrdiff_t>(plan.done), n, plan.regions.row);
    plan.n = static_cast<unsigned>(n);
    launch(backend, 1, plan_messages<W, T, I>, plan);
  }
  const Planned<W, T, I> all{in, plan.draft, regions.size(), out};
  if (backend.messages() == MessageLocation::on_host) return write_for_host(backend, all);
  const uint64_t words = out.capacity / 8 + 1;
  launch(backend, blocks_for(backend, words, kRun * kWarps), write_messages<W, T, I>, all,
         Words{0, words});
}

}  // namespace sparsecoll::cuda
