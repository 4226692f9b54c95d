// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of 8 bits with a scale for each group of consecutive indices (core/int8.hpp).
//
// A warp takes the groups whose first entries lie in its share of the entries, one after another:
// it finds the largest value of a group, then writes the group's values. One launch rounds a
// vector; one more, for all messages of a call, encodes their values in workspace, from where
// write_messages() takes whole words. One launch decodes the values of received messages when
// their indices are known. Values are read twice and written once.

#include "core/int8.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/view.cuh"
#include "kernels/cuda/wire/message_writer.cuh"
#include "kernels/cuda/wire/unpack.cuh"

namespace sparsecoll::cuda {

/// Calls body(first, last, group) for groups of entries, with all lanes of a warp. The groups of
/// one warp are those that begin in its share of `entries`.
template <class Group, class Body>
__device__ void for_groups_of_warp(size_t entries, const Group& group_of, const Body& body) {
  const unsigned lane = threadIdx.x % 32;
  const Share share = share_of_warp(entries);
  for (size_t window = share.begin; window < share.end; window += 32) {
    const size_t j = window + lane;
    const bool begins = j < share.end && (j == 0 || group_of(j - 1) != group_of(j));
    unsigned first_entries = __ballot_sync(kFullWarp, begins);
    for (; first_entries != 0; first_entries &= first_entries - 1) {
      const size_t first = window + static_cast<unsigned>(__ffsll(first_entries) - 1);
      const uint64_t group = group_of(first);
      size_t last = first;
      unsigned inside = kFullWarp;
      for (; inside == kFullWarp; last += static_cast<unsigned>(__popc(inside))) {
        const size_t i = last + lane;
        inside = __ballot_sync(kFullWarp, i < entries && group_of(i) == group);
      }
      body(first, last, group);
    }
  }
}

/// Returns the scale of the values [begin, end), to every lane of the warp.
template <class A>
__device__ ScaleByte scale_of_values(const A* value, size_t begin, size_t end) {
  Key<A> largest = 0;
  for (size_t v = begin + threadIdx.x % 32; v < end; v += 32) {
    const Key<A> key = scaled_key(value[v]);
    largest = key > largest ? key : largest;
  }
  for (int step = 16; step > 0; step /= 2) {
    const Key<A> other = __shfl_xor_sync(kFullWarp, largest, step);
    largest = other > largest ? other : largest;
  }
  return scale_of<A>(largest);
}

template <class A, class I>
__global__ void __launch_bounds__(kThreads)
    round_values_to_int8(View<A, I> in, size_t block_size, unsigned bits, A* rounded, A* lost) {
  for_groups_of_warp(
      in.nnz.get(), [&](size_t j) { return in.at(j) >> bits; },
      [&](size_t first, size_t last, uint64_t) {
        const size_t begin = first * block_size, end = last * block_size;
        const ScaleByte scale = scale_of_values(in.value, begin, end);
        for (size_t v = begin + threadIdx.x % 32; v < end; v += 32) {
          const A value = in.value[v];
          lost[v] = lost_to_int8(value, scale);
          rounded[v] = rounded_to_int8(value, scale);
        }
      });
}

/// Rounds the values of a vector; 2^bits consecutive indices share a scale.
template <class A, class I>
void round_to_int8(Backend& backend, const View<A, I>& in, size_t block_size, unsigned bits,
                   A* rounded, A* lost) {
  launch(backend, blocks_for(backend, in.nnz.bound, kThreads), round_values_to_int8<A, I>, in,
         block_size, bits, rounded, lost);
}

/// Writes scales and values of all messages to `encoded`, at the positions of the slab. Scales of
/// groups without entries are 0 before the launch.
template <class A, class I>
__global__ void __launch_bounds__(kThreads)
    encode_int8(View<A, I> in, const MessagePlan* plans, size_t messages, unsigned bits,
                std::byte* encoded) {
  for (size_t p = 0; p < messages; ++p) {
    const MessagePlan& plan = plans[p];
    const size_t block_size = plan.shape.value_size;
    const RegionFormat format(plan.region.length(), block_size, {bits, plan.region.begin});
    const A* const value = in.value + plan.first * block_size;
    std::byte* const scales = encoded + values_offset(plan);
    std::byte* const codes = scales + plan.shape.scales;
    const auto distance_of = [&](size_t j) { return in.at(plan.first + j) - plan.region.begin; };
    for_groups_of_warp(
        plan.shape.nnz, [&](size_t j) { return format.scales.of(distance_of(j)); },
        [&](size_t first, size_t last, uint64_t) {
          const size_t begin = first * block_size, end = last * block_size;
          const ScaleByte scale = scale_of_values(value, begin, end);
          // Entries that share a scale also share its position, except where each has its own.
          const bool one = format.scale_by_group(plan.shape);
          const size_t end_of_scales = one ? first + 1 : last;
          for (size_t j = first + threadIdx.x % 32; j < end_of_scales; j += 32)
            scales[format.scale_position(plan.shape, j, distance_of(j))] = std::byte{scale};
          for (size_t v = begin + threadIdx.x % 32; v < end; v += 32)
            codes[v] = static_cast<std::byte>(to_int8(value[v], scale).code);
        });
  }
}

/// Writes the values of messages of 8-bit values, whose indices are written already.
template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    decode_int8(const __grid_constant__ UnpackBatch<T, I> batch) {
  for (unsigned m = 0; m < batch.messages; ++m) {
    const IncomingMessage<T, I>& message = batch.incoming.row[m];
    const MessageReader<T, I, UnalignedLoader> reader(message, batch.format);
    // A message that turned out to be malformed has no entries.
    if (!reader.sound() || !reader.is_int8() || *message.out.nnz == 0) continue;
    for (size_t j = size_t{blockIdx.x} * kThreads + threadIdx.x; j < reader.nnz();
         j += size_t{gridDim.x} * kThreads)
      reader.write_int8_values(j);
  }
}

inline size_t entries_of(std::span<const SparseBuffer> out) {
  size_t entries = 0;
  for (const SparseBuffer& each : out) entries += each.capacity;
  return entries;
}

template <class T, class I>
void unpack_all(Backend& backend, std::span<const Message> messages, const Kernels& kernels,
                std::span<const SparseBuffer> out, uint64_t* fault) {
  for (size_t done = 0; done < messages.size();) {
    const Arena::Scope scope(backend.arena());
    const size_t n =
        std::min(messages.size() - done, ParameterArray<IncomingMessage<T, I>>::kCapacity);
    UnpackBatch<T, I> batch =
        make_batch<T, I>(backend, messages.subspan(done, n), out.subspan(done, n));
    batch.format = {kernels.block_size(), kernels.scale_bits().has_value(),
                    kernels.scale_bits().value_or(0)};
    batch.state = backend.arena().take<ChunkState>(batch.chunks);
    batch.fault = fault;
    launch_cooperative(backend, batch.chunks, unpack_messages<T, I>, batch);
    if (batch.format.has_scales)
      launch(backend, blocks_for(backend, entries_of(out.subspan(done, n)), kThreads),
             decode_int8<T, I>, batch);
    done += n;
  }
}

}  // namespace sparsecoll::cuda
