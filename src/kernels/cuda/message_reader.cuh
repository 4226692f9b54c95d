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

/// An index, relative to the region, and whether it is above the one before and inside.
struct FoundIndex {
  uint64_t distance;
  bool sound;
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
    if (is_bitmap()) {
      bits_.end = length_;
    } else if (representation_ == Representation::coded) {
      code_ = WireCode(nnz_, length_);
      bits_ = {code_.unary, code_.end};
    }
    index_.at = bytes.data() + sizeof header;
    value_.at = index_.at + wire_index_bytes(representation_, {nnz_, length_, size_of(sent)});
  }

  __device__ bool sound() const { return sound_; }
  __device__ uint64_t nnz() const { return nnz_; }
  /// Whether entries are counted: each is a one in some word, a group of them.
  __device__ bool counted() const { return representation_ != Representation::dense; }

  /// The block puts the values of these entries.
  __device__ void put_values(const Share& share) const {
    if (wide_)
      put_values_of<Acc>(share);
    else
      put_values_of<T>(share);
  }

  /// Where entries are not counted, the block puts the indices of these.
  __device__ void put_indices(const Share& share) const {
    if (!to_index_) return;
    for (size_t j = share.begin + threadIdx.x; j < share.end; j += kThreads)
      to_index_[j] = static_cast<I>(begin_ + j);
  }

  // --- where they are

  __device__ uint64_t groups() const {
    return bits_.end / 64 + (bits_.end % 64 != 0) - bits_.begin / 64;
  }
  /// Of group g: a bit for each position.
  __device__ uint64_t word(uint64_t g) const {
    const auto bits = index_.template load<uint64_t>(bits_.begin / 64 + g);
    return g == 0 ? bits & ~uint64_t{0} << bits_.begin % 64 : bits;
  }
  /// Entries of group g.
  __device__ unsigned count(uint64_t g) const { return static_cast<unsigned>(__popcll(word(g))); }
  /// Whether no bit of group g lies behind the last that may be one.
  __device__ bool fits(uint64_t g) const {
    return bits_.begin / 64 + g < bits_.end / 64 || word(g) >> bits_.end % 64 == 0;
  }
  /// Entry j, the one at `position`, counted from the first group's first bit.
  __device__ FoundIndex find(uint64_t j, uint64_t position) const {
    if (is_bitmap()) return {position, true};
    const uint64_t low = low_bits(j);
    const uint64_t distance = (position - bits_.begin % 64 - j) << code_.low | low;
    // Of entries with the same high bits, whose ones are neighbours, the low bits must rise.
    const bool alike = j > 0 && word((position - 1) / 64) >> (position - 1) % 64 & 1;
    return {distance, distance < length_ && !(alike && low_bits(j - 1) >= low)};
  }
  __device__ void put_index(uint64_t j, uint64_t distance) const {
    to_index_[j] = static_cast<I>(begin_ + distance);
  }

 private:
  __device__ bool is_bitmap() const { return representation_ == Representation::bitmap; }

  __device__ uint64_t low_bits(uint64_t j) const {
    const uint64_t bit = j * code_.low, shift = bit % 64;
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
  bool wide_ = false;  ///< values are of the accumulation type
  Representation representation_{};
  uint64_t nnz_ = 0;
  uint64_t length_ = 0;
  WireCode code_{0, 0};  ///< where indices are coded
  Share bits_{0, 0};     ///< of the index part: those that have a one for each entry
  Integers index_{};
  Integers value_{};
};

}  // namespace sparsecoll::cuda
