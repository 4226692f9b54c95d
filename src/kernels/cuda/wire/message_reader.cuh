// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads a received message on the device.

#include "core/int8.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/view.cuh"
#include "kernels/cuda/wire/headers.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

// Two ways to load consecutive unsigned integers.

/// Loads from addresses that are a multiple of the integer's size.
struct AlignedLoader {
  static constexpr unsigned kBatch = 2;  ///< entries whose loads a thread issues at a time
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    return __ldg(reinterpret_cast<const N*>(at) + j);
  }
};

/// Loads from any address, byte by byte.
struct UnalignedLoader {
  static constexpr unsigned kBatch = 1;  ///< one at a time: every byte takes a register
  const std::byte* at;

  template <class N>
  __device__ N load(size_t j) const {
    uint64_t value = 0;
    for (size_t b = 0; b < sizeof(N); ++b)
      value |= static_cast<uint64_t>(at[j * sizeof(N) + b]) << 8 * b;
    return static_cast<N>(value);
  }
};

/// A word and the number of entries before it.
struct WordPosition {
  uint64_t word;
  uint64_t entries;
};

/// One of a few consecutive entries and the position of its bit. Both are relative to a
/// WordPosition.
struct EntryBit {
  unsigned entry;
  unsigned position;
  bool follows;  ///< true: the bit before it is that of the preceding entry
};

/// A received message, the buffer for its entries, and the chunks that it is cut into.
template <class T, class I>
struct IncomingMessage {
  Message message;
  Output<Accumulation<T>, I> out;
  unsigned first_chunk;
  unsigned chunks;
};

/// The parts of the format that are the same for all messages of a call.
struct MessageFormat {
  size_t block_size;
  bool has_scales;
  unsigned scale_bits;

  __device__ RegionFormat of(const Message& message) const {
    const ScaleGroups groups(scale_bits, message.region.begin - message.moved);
    return {message.region.length(), block_size, has_scales ? groups : ScaleGroups{}};
  }
};

/// A message whose header has been checked. Unless sound() is true, no other function may be
/// called. Callers pass entries below nnz() and words below words(); then all reads are inside the
/// message and all writes inside the buffer.
template <class T, class I, class Loader>
class MessageReader {
  using Acc = Accumulation<T>;

 public:
  static constexpr unsigned kBatch = Loader::kBatch;

  __device__ MessageReader(const IncomingMessage<T, I>& incoming, const MessageFormat& format)
      : block_size_(format.block_size),
        to_index_(incoming.out.index),
        to_value_(incoming.out.value),
        begin_(incoming.message.region.begin) {
    const ConstBytes& bytes = incoming.message.bytes;
    if (bytes.size() < sizeof(WireHeader)) return;
    const Loader loader{bytes.data()};
    const auto header = std::bit_cast<WireHeader>(
        HeaderWords{{loader.template load<uint64_t>(0), loader.template load<uint64_t>(1),
                     loader.template load<uint64_t>(2)}});
    representation_ = static_cast<Representation>(header.representation);
    const RegionFormat region = format.of(incoming.message);
    if (!wire_sound(header, bytes.size(), data_type_of<T>(), region) ||
        header.nnz > incoming.out.capacity ||
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
      code_ = EliasFanoLayout(nnz_, length_);
    index_.at = bytes.data() + sizeof header;
    const WireShape shape = region.shape(nnz_, sent);
    value_.at = index_.at + wire_index_bytes(representation_, shape);
    groups_ = region.scales;
    scales_ = shape.scales;
  }

  __device__ bool sound() const { return sound_; }
  __device__ uint64_t nnz() const { return nnz_; }
  /// Returns whether entries are counted: each entry is a one bit in some 64-bit word. A dense
  /// message has no such words.
  __device__ bool counted() const { return representation_ != Representation::dense; }

  __device__ bool is_int8() const { return sent_ == kInt8Values; }

  /// Writes the values of these entries, with all threads of the block. Values of 8 bits are left
  /// to write_int8_values(), because their scales depend on the indices.
  __device__ void write_values(const Share& share) const {
    if (sent_ == data_type_of<T>()) {
      write_values_of<T>(share);
    } else if (sent_ == data_type_of<Acc>()) {
      write_values_of<Acc>(share);
    } else if constexpr (!Integer<T>) {
      if (!is_int8()) write_values_of<Bfloat16>(share);
    }
  }

  /// Writes the values of an entry whose index is written and sound.
  __device__ void write_int8_values(size_t j) const {
    if constexpr (!Integer<T>) {
      const uint64_t distance = to_index_ ? to_index_[j] - begin_ : uint64_t{j};
      const RegionFormat format(length_, block_size_, groups_);
      const auto scale = static_cast<ScaleByte>(
          value_.at[format.scale_position(format.shape(nnz_, kInt8Values), j, distance)]);
      for (size_t v = j * block_size_; v < (j + 1) * block_size_; ++v)
        to_value_[v] = from_int8<Acc>(Int8{static_cast<int8_t>(value_.at[scales_ + v])}, scale);
    }
  }

  /// Writes the indices of these entries of a dense message, with all threads of the block.
  __device__ void write_indices(const Share& share) const {
    if (!to_index_) return;
    for (size_t j = share.begin + threadIdx.x; j < share.end; j += kThreads)
      to_index_[j] = static_cast<I>(begin_ + j);
  }

  // --- words of bits

  __device__ uint64_t words() const {
    return code_.end / 64 + (code_.end % 64 != 0) - code_.unary / 64;
  }
  /// Returns the bits of word w that stand for entries.
  __device__ uint64_t word(uint64_t w) const {
    const auto bits = index_.template load<uint64_t>(code_.unary / 64 + w);
    return w == 0 ? bits & ~uint64_t{0} << code_.unary % 64 : bits;
  }
  /// Returns the number of entries in word w.
  __device__ unsigned count(uint64_t w) const { return static_cast<unsigned>(__popcll(word(w))); }
  /// Returns whether word w has no bit past the last position that an entry can have.
  __device__ bool fits(uint64_t w) const {
    return code_.unary / 64 + w < code_.end / 64 || word(w) >> code_.end % 64 == 0;
  }
  /// Returns 1 if the last bit before word w is set, else 0.
  __device__ uint64_t last_bit_before(uint64_t w) const { return w == 0 ? 0 : word(w - 1) >> 63; }
  /// The part of an entry's position that all entries of a window share.
  struct EntryBase {
    /// first bit of the window; in the unary part, minus the number of entries before it
    uint64_t position;
    uint64_t low;  ///< first bit of the window's low bits
  };
  __device__ EntryBase base_of(const WordPosition& at) const {
    return {at.word * 64 - (is_bitmap() ? 0 : code_.unary % 64 + at.entries),
            at.entries * code_.low};
  }
  static constexpr uint64_t kUnsound = ~uint64_t{0};
  /// Returns the distance of an entry from the region's start. Returns kUnsound if the entry is not
  /// past the one before or is outside the region.
  __device__ uint64_t distance_of(const EntryBase& base, const EntryBit& bit) const {
    if (is_bitmap()) return base.position + bit.position;
    const uint64_t begin = base.low + uint64_t{bit.entry} * code_.low, low = low_bits(begin);
    // The ones of the two entries are adjacent, so their high bits are equal.
    if (bit.follows && low_bits(begin - code_.low) >= low) return kUnsound;
    const uint64_t distance = (base.position + bit.position - bit.entry) << code_.low | low;
    return distance < length_ ? distance : kUnsound;
  }
  __device__ void write_index(uint64_t j, uint64_t distance) const {
    to_index_[j] = static_cast<I>(begin_ + distance);
  }

 private:
  __device__ bool is_bitmap() const { return representation_ == Representation::bitmap; }

  /// Returns the low bits that begin at position `bit`.
  __device__ uint64_t low_bits(uint64_t bit) const {
    const uint64_t shift = bit % 64;
    uint64_t low = index_.template load<uint64_t>(bit / 64) >> shift;
    if (shift + code_.low > 64) low |= index_.template load<uint64_t>(bit / 64 + 1) << (64 - shift);
    return low & code_.mask();
  }

  template <class V>
  __device__ void write_values_of(const Share& share) const {
    // enough loads on their way to use all of the memory's bandwidth
    in_batches<kThreads, 4 * kBatch>(
        share.begin * block_size_ + threadIdx.x, share.end * block_size_,
        [&](size_t j) { return value_.template load<Key<V>>(j); },
        [&](size_t j, Key<V> bits) { to_value_[j] = sparsecoll::widen(std::bit_cast<V>(bits)); });
  }

  const size_t block_size_;
  I* const to_index_;  ///< null: the output is dense
  Acc* const to_value_;
  const uint64_t begin_;
  bool sound_ = false;
  DataType sent_{};  ///< type of the values in the message
  Representation representation_{};
  uint64_t nnz_ = 0;
  uint64_t length_ = 0;
  ScaleGroups groups_;
  uint64_t scales_ = 0;         ///< number of scales before the values
  EliasFanoLayout code_{0, 0};  ///< for a bitmap, all of it counts as the unary part
  Loader index_{};
  Loader value_{};
};

}  // namespace sparsecoll::cuda
