// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A message's bytes as the device sees them.

#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/view.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

// Two ways to read unsigned integers that lie one after another.

/// From an address that is a multiple of their size.
struct Aligned {
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    return __ldg(reinterpret_cast<const N*>(at) + j);
  }
};

/// From anywhere.
struct Anywhere {
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    uint64_t value = 0;
    for (size_t b = 0; b < sizeof(N); ++b)
      value |= static_cast<uint64_t>(at[j * sizeof(N) + b]) << 8 * b;
    return static_cast<N>(value);
  }
};

/// A number of a message and the one in front of it, or, of the first one, itself again.
template <class N>
struct Neighbours {
  N before;
  N own;
};
template <class N, class Integers>
__device__ Neighbours<N> neighbours_at(const Integers& integers, size_t j) {
  return {integers.template load<N>(j == 0 ? 0 : j - 1), integers.template load<N>(j)};
}

/// A message, where its entries go, and who works on it.
template <class T, class I>
struct Arrival {
  Message message;
  Output<Accumulation<T>, I> out;
  unsigned first_slot;
  unsigned slots;
};

/// A message whose header has been checked. Unless it is sound(), nothing else may be called.
/// Entries and groups are below nnz() and groups(): then all that is read lies inside of the bytes,
/// and all that is written inside of the buffer.
template <class T, class I, class Integers>
class MessageReader {
  using Acc = Accumulation<T>;

 public:
  __device__ explicit MessageReader(const Arrival<T, I>& arrival)
      : to_index_(arrival.out.index),
        to_value_(arrival.out.value),
        begin_(arrival.message.region.begin) {
    struct Raw {
      uint64_t word[3];
    };
    const ConstBytes& bytes = arrival.message.bytes;
    if (bytes.size() < sizeof(WireHeader)) return;
    const Integers words{bytes.data()};
    const auto header = std::bit_cast<WireHeader>(
        Raw{{words.template load<uint64_t>(0), words.template load<uint64_t>(1),
             words.template load<uint64_t>(2)}});
    representation_ = static_cast<Representation>(header.representation);
    if (!wire_sound(header, bytes.size(), data_type_of<T>(), arrival.message.region.length()) ||
        header.nnz > arrival.out.capacity ||
        (!to_index_ && representation_ != Representation::dense))
      return;
    sound_ = true;
    nnz_ = header.nnz;
    length_ = header.length;
    const auto sent = static_cast<DataType>(header.data_type);
    wide_ = sent != data_type_of<T>();
    index_.at = bytes.data() + sizeof header;
    value_.at = index_.at + wire_index_bytes(representation_, {nnz_, length_, size_of(sent)});
  }

  __device__ bool sound() const { return sound_; }
  __device__ uint64_t nnz() const { return nnz_; }
  /// Whether entries are counted, in groups: the bits of words, or blocks.
  __device__ bool counted() const {
    return representation_ == Representation::block16 || is_bitmap();
  }

  /// The block puts the values of these entries.
  __device__ void put_values(const Share& share) const {
    if (wide_)
      put_values_of<Acc>(share);
    else
      put_values_of<T>(share);
  }

  /// Where entries are not counted, the block puts the indices of these. Every thread returns
  /// whether those that it has seen are strictly rising and inside the region.
  __device__ bool put_indices(const Share& share) const {
    if (representation_ == Representation::coordinate)
      return narrowest_index(length_) == IndexType::index32 ? put_coordinates<uint32_t>(share)
                                                            : put_coordinates<uint64_t>(share);
    if (to_index_)
      for (size_t j = share.begin + threadIdx.x; j < share.end; j += kThreads)
        to_index_[j] = static_cast<I>(begin_ + j);
    return true;
  }

  // --- where they are

  __device__ uint64_t groups() const {
    return is_bitmap() ? length_ / 64 + (length_ % 64 != 0) : wire_blocks(length_);
  }
  /// Entries of group g.
  __device__ unsigned count(uint64_t g) const {
    return is_bitmap() ? static_cast<unsigned>(__popcll(word(g)))
                       : index_.template load<uint32_t>(g);
  }
  /// Whether no entry of group g lies behind the region, as far as its count can tell.
  __device__ bool fits(uint64_t g) const {
    return is_bitmap() ? g < length_ / 64 || word(g) >> length_ % 64 == 0 : count(g) <= kWireBlock;
  }
  __device__ bool is_bitmap() const { return representation_ == Representation::bitmap; }
  /// Of a bitmap: 64 positions.
  __device__ uint64_t word(uint64_t g) const { return index_.template load<uint64_t>(g); }
  __device__ void put_bit(uint64_t j, uint64_t position) const {
    to_index_[j] = static_cast<I>(begin_ + position);
  }
  /// Of entry j, in its block.
  __device__ Neighbours<uint16_t> offset_at(uint64_t j) const {
    const Integers offsets{index_.at + wire_blocks(length_) * sizeof(uint32_t)};
    return neighbours_at<uint16_t>(offsets, j);
  }
  /// Puts the index of entry j, which is the first one of block g or not, and returns whether it is
  /// above the one before and inside the region.
  __device__ bool put_offset(uint64_t j, uint64_t g, bool first,
                             const Neighbours<uint16_t>& offset) const {
    const uint64_t begin = g * kWireBlock;
    to_index_[j] = static_cast<I>(begin_ + begin + offset.own);
    return (first || offset.before < offset.own) && offset.own < length_ - begin;
  }

 private:
  template <class V>
  __device__ void put_values_of(const Share& share) const {
    in_batches<kThreads>(
        share.begin + threadIdx.x, share.end,
        [&](size_t j) { return value_.template load<Key<V>>(j); },
        [&](size_t j, Key<V> bits) { to_value_[j] = sparsecoll::widen(std::bit_cast<V>(bits)); });
  }

  template <class N>
  __device__ bool put_coordinates(const Share& share) const {
    bool fault = false;
    in_batches<kThreads>(
        share.begin + threadIdx.x, share.end, [&](size_t j) { return neighbours_at<N>(index_, j); },
        [&](size_t j, const Neighbours<N>& offset) {
          fault |= (j > 0 && offset.before >= offset.own) || offset.own >= length_;
          to_index_[j] = static_cast<I>(begin_ + offset.own);
        });
    return !fault;
  }

  I* const to_index_;  ///< null: into a dense piece
  Acc* const to_value_;
  const uint64_t begin_;
  bool sound_ = false;
  bool wide_ = false;  ///< values are of the accumulation type
  Representation representation_{};
  uint64_t nnz_ = 0;
  uint64_t length_ = 0;
  Integers index_{};
  Integers value_{};
};

}  // namespace sparsecoll::cuda
