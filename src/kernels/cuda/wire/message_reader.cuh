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
  static constexpr unsigned kBatch = 2;  ///< entries whose bits are on their way at a time
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    return __ldg(reinterpret_cast<const N*>(at) + j);
  }
};

/// From anywhere.
struct Anywhere {
  static constexpr unsigned kBatch = 1;  ///< for each takes registers for all its bytes
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    uint64_t value = 0;
    for (size_t b = 0; b < sizeof(N); ++b)
      value |= static_cast<uint64_t>(at[j * sizeof(N) + b]) << 8 * b;
    return static_cast<N>(value);
  }
};

/// A group and how many entries are in front of it.
struct GroupAt {
  uint64_t group;
  uint64_t entries;
};

/// One of a few consecutive entries and where it is, both counted from those that a GroupAt has.
struct BitAt {
  unsigned entry;
  unsigned position;
  bool next;  ///< the bit before is that of the entry before
};

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
  static constexpr unsigned kBatch = Integers::kBatch;

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
    sent_ = sent;
    if (is_bitmap())
      code_.end = length_;
    else if (representation_ == Representation::coded)
      code_ = WireCode(nnz_, length_);
    index_.at = bytes.data() + sizeof header;
    value_.at = index_.at + wire_index_bytes(representation_, {nnz_, length_, size_of(sent)});
  }

  __device__ bool sound() const { return sound_; }
  __device__ uint64_t nnz() const { return nnz_; }
  /// Whether entries are counted: each is a one in some word, a group of them.
  __device__ bool counted() const { return representation_ != Representation::dense; }

  /// The block puts the values of these entries.
  __device__ void put_values(const Share& share) const {
    if (sent_ == data_type_of<T>())
      put_values_of<T>(share);
    else if (sent_ == data_type_of<Acc>())
      put_values_of<Acc>(share);
    else if constexpr (!Integer<T>)
      put_values_of<Bfloat16>(share);
  }

  /// Where entries are not counted, the block puts the indices of these.
  __device__ void put_indices(const Share& share) const {
    if (!to_index_) return;
    for (size_t j = share.begin + threadIdx.x; j < share.end; j += kThreads)
      to_index_[j] = static_cast<I>(begin_ + j);
  }

  // --- where they are

  __device__ uint64_t groups() const {
    return code_.end / 64 + (code_.end % 64 != 0) - code_.unary / 64;
  }
  /// Of group g: a bit for each position.
  __device__ uint64_t word(uint64_t g) const {
    const auto bits = index_.template load<uint64_t>(code_.unary / 64 + g);
    return g == 0 ? bits & ~uint64_t{0} << code_.unary % 64 : bits;
  }
  /// Entries of group g.
  __device__ unsigned count(uint64_t g) const { return static_cast<unsigned>(__popcll(word(g))); }
  /// Whether no bit of group g lies behind the last that may be one.
  __device__ bool fits(uint64_t g) const {
    return code_.unary / 64 + g < code_.end / 64 || word(g) >> code_.end % 64 == 0;
  }
  /// Whether the last bit in front of group g is a one.
  __device__ uint64_t last_bit_before(uint64_t g) const { return g == 0 ? 0 : word(g - 1) >> 63; }
  /// What is the same for all entries that are found from there on.
  struct From {
    uint64_t position;  ///< of a bitmap; or, less the entries in front, of the unary part
    uint64_t low;       ///< where the low bits begin
  };
  __device__ From from(const GroupAt& at) const {
    return {at.group * 64 - (is_bitmap() ? 0 : code_.unary % 64 + at.entries),
            at.entries * code_.low};
  }
  static constexpr uint64_t kUnsound = ~uint64_t{0};
  /// How far from the region's start an entry is; kUnsound if not behind the one before, or
  /// outside.
  __device__ uint64_t find(const From& from, const BitAt& at) const {
    if (is_bitmap()) return from.position + at.position;
    const uint64_t bit = from.low + uint64_t{at.entry} * code_.low, low = low_bits(bit);
    // If their ones are neighbours, their high bits are the same.
    if (at.next && low_bits(bit - code_.low) >= low) return kUnsound;
    const uint64_t distance = (from.position + at.position - at.entry) << code_.low | low;
    return distance < length_ ? distance : kUnsound;
  }
  __device__ void put_index(uint64_t j, uint64_t distance) const {
    to_index_[j] = static_cast<I>(begin_ + distance);
  }

 private:
  __device__ bool is_bitmap() const { return representation_ == Representation::bitmap; }

  /// From there on.
  __device__ uint64_t low_bits(uint64_t bit) const {
    const uint64_t shift = bit % 64;
    uint64_t low = index_.template load<uint64_t>(bit / 64) >> shift;
    if (shift + code_.low > 64) low |= index_.template load<uint64_t>(bit / 64 + 1) << (64 - shift);
    return low & code_.mask();
  }

  template <class V>
  __device__ void put_values_of(const Share& share) const {
    in_batches<kThreads>(
        share.begin + threadIdx.x, share.end,
        [&](size_t j) { return value_.template load<Key<V>>(j); },
        [&](size_t j, Key<V> bits) { to_value_[j] = sparsecoll::widen(std::bit_cast<V>(bits)); });
  }

  I* const to_index_;  ///< null: into a dense piece
  Acc* const to_value_;
  const uint64_t begin_;
  bool sound_ = false;
  DataType sent_{};  ///< of the values in the message
  Representation representation_{};
  uint64_t nnz_ = 0;
  uint64_t length_ = 0;
  WireCode code_{0, 0};  ///< also of a bitmap, all of which is the unary part
  Integers index_{};
  Integers value_{};
};

}  // namespace sparsecoll::cuda
