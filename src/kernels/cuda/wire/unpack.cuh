// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Unpacks messages into entries; kernels/wire.hpp describes the format. The bytes of a message are
// not trusted: whatever they are, no read is outside the message and no write outside the buffers.
// A message is cut into chunks, in proportion to its size, which blocks take:
//
// 1. Check and copy. The header is checked, so that its numbers fit the message and the buffer.
//    Each chunk writes its share of the values and, for a dense message, of the indices. For the
//    other representations it counts the one bits in its share of the words.
// 2. Decode. When all chunks have counted, each finds the word of its first entry from these
//    counts. It decodes its share of the entries from there on, a tile of words at a time
//    (word_tile.cuh).
// 3. Publish. When all chunks are done, a warp for each message collects their faults and stores
//    the number of entries.
//
// One cooperative launch for about 50 messages, which are passed in its parameters. Messages are
// read once, except for the words of bits, which are read up to three times. Entries are written
// once, before it is known whether all of them are sound; an unsound message gets the length 0.

#include <cooperative_groups.h>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/wire/word_tile.cuh"

namespace sparsecoll::cuda {

/// The result of unpacking one chunk.
struct ChunkState {
  uint64_t entries;  ///< one bits in the chunk's share of the words
  bool fault;
};

/// The messages of one launch.
template <class T, class I>
struct UnpackBatch {
  ParameterArray<IncomingMessage<T, I>> incoming;
  unsigned messages;
  unsigned chunks;  ///< chunks of all messages together
  MessageFormat format;
  ChunkState* state;  ///< one for each chunk of all messages
  uint64_t* fault;

  __device__ const IncomingMessage<T, I>& of_chunk(unsigned chunk) const {
    const auto behind = [&](unsigned m) { return incoming.row[m].first_chunk > chunk; };
    return incoming.row[first_where(1u, messages, behind) - 1];
  }
  __device__ bool aligned(unsigned chunk) const {
    return reinterpret_cast<uintptr_t>(of_chunk(chunk).message.bytes.data()) % 8 == 0;
  }
};

struct UnpackStorage {
  WordTile tile;
  WordPosition begin;  ///< the position at which to start decoding
};

/// Unpacks one chunk. All threads of the block must call it.
template <class T, class I, class Loader>
class ChunkUnpacker {
 public:
  __device__ ChunkUnpacker(const UnpackBatch<T, I>& batch, unsigned chunk, UnpackStorage& storage)
      : message_(batch.of_chunk(chunk)),
        reader_(message_, batch.format),
        own_(chunk - message_.first_chunk),
        state_(batch.state + message_.first_chunk),
        storage_(storage) {}

  __device__ void run(int step) const {
    if (step == 1)
      check_and_write();
    else
      write_counted_indices();
  }

 private:
  __device__ void check_and_write() const {
    uint64_t entries = 0, all = 0;
    bool fault = !reader_.sound();
    if (!fault) {
      const Share share = share_of(reader_.nnz(), own_, message_.chunks);
      reader_.write_values(share);
      if (reader_.counted()) {
        const Share words = share_of(reader_.words(), own_, message_.chunks);
        for (size_t w = words.begin + threadIdx.x; w < words.end; w += kThreads) {
          entries += reader_.count(w);
          fault |= !reader_.fits(w);
        }
      } else {
        reader_.write_indices(share);
      }
    }
    BlockSum<uint64_t>(storage_.tile.sum).before(entries, &all);
    fault = __syncthreads_or(fault);
    if (threadIdx.x == 0) state_[own_] = {all, fault};
  }

  __device__ void write_counted_indices() const {
    if (!reader_.sound() || !reader_.counted()) return;
    const Share share = share_of(reader_.nnz(), own_, message_.chunks);
    bool fault = find_entry(share.begin) != reader_.nnz();
    if (!fault && share.begin < share.end) fault = !write_indices(share);
    fault = __syncthreads_or(fault);
    if (threadIdx.x == 0) state_[own_].fault |= fault;
  }

  /// Stores the position from which to decode entry j. Returns the number of one bits in the whole
  /// message.
  __device__ uint64_t find_entry(uint64_t j) const {
    uint64_t before = 0;
    for (unsigned tile = 0; tile < message_.chunks; tile += kThreads) {
      const unsigned chunk = tile + threadIdx.x;
      const uint64_t entries = chunk < message_.chunks ? state_[chunk].entries : 0;
      uint64_t all = 0;
      const uint64_t first = before + BlockSum<uint64_t>(storage_.tile.sum).before(entries, &all);
      if (j >= first && j - first < entries) {
        storage_.begin = {share_of(reader_.words(), chunk, message_.chunks).begin, first};
      }
      before += all;
    }
    __syncthreads();
    return before;
  }

  /// Writes the indices of these entries. Returns whether those this thread has decoded are sound.
  __device__ bool write_indices(const Share& share) const {
    bool sound = true;
    WordPosition begin = storage_.begin;
    while (begin.entries < share.end && begin.word < reader_.words()) {
      const WordPosition end{begin.word + WordTile::kWords,
                             begin.entries + storage_.tile.count(reader_, begin)};
      const Share own{std::max(share.begin, begin.entries), std::min(share.end, end.entries)};
      if (own.begin < own.end) sound &= storage_.tile.write_entries(reader_, begin, own);
      begin = end;
      __syncthreads();  // before the next tile overwrites this one
    }
    return sound;
  }

  const IncomingMessage<T, I>& message_;
  const MessageReader<T, I, Loader> reader_;
  const unsigned own_;
  ChunkState* const state_;  ///< the states of the message's chunks
  UnpackStorage& storage_;
};

/// Step 3: stores the length of every message and counts faults.
template <class T, class I>
__device__ void publish_messages(const UnpackBatch<T, I>& batch) {
  for (unsigned m = blockIdx.x * kWarps + threadIdx.x / 32; m < batch.messages;
       m += gridDim.x * kWarps) {
    const IncomingMessage<T, I>& message = batch.incoming.row[m];
    bool fault = false;
    for (unsigned chunk = threadIdx.x % 32; chunk < message.chunks; chunk += 32)
      fault |= batch.state[message.first_chunk + chunk].fault;
    fault = __any_sync(kFullWarp, fault);
    if (threadIdx.x % 32 != 0) continue;
    *message.out.nnz =
        fault ? 0 : MessageReader<T, I, UnalignedLoader>(message, batch.format).nnz();
    if (fault) add_to(batch.fault, 1);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    unpack_messages(const __grid_constant__ UnpackBatch<T, I> batch) {
  __shared__ UnpackStorage storage;
  for (int step = 1; step <= 2; ++step) {
    for (unsigned chunk = blockIdx.x; chunk < batch.chunks; chunk += gridDim.x) {
      if (batch.aligned(chunk))
        ChunkUnpacker<T, I, AlignedLoader>(batch, chunk, storage).run(step);
      else
        ChunkUnpacker<T, I, UnalignedLoader>(batch, chunk, storage).run(step);
    }
    cooperative_groups::this_grid().sync();
  }
  publish_messages(batch);
}

/// Cuts the messages of one launch into about as many chunks as blocks run at once.
template <class T, class I>
UnpackBatch<T, I> make_batch(const Backend& backend, std::span<const Message> messages,
                             std::span<const SparseBuffer> out) {
  // bytes of the smallest chunk: more chunks would not be faster
  constexpr size_t kSmallest = 8192;
  size_t bytes = 0;
  for (const Message& message : messages) bytes += message.bytes.size();
  const size_t blocks = size_t{kResidentBlocks} * backend.multiprocessors();
  const size_t spare = blocks > messages.size() ? blocks - messages.size() : 1;
  const size_t each = std::max(kSmallest, bytes / spare + 1);
  UnpackBatch<T, I> batch{};
  batch.messages = static_cast<unsigned>(messages.size());
  for (size_t m = 0; m < messages.size(); ++m) {
    const auto chunks = static_cast<unsigned>(1 + messages[m].bytes.size() / each);
    batch.incoming.row[m] = {messages[m], Output<Accumulation<T>, I>(out[m]), batch.chunks, chunks};
    batch.chunks += chunks;
  }
  return batch;
}

}  // namespace sparsecoll::cuda
