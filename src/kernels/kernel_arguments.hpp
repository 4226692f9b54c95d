// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The structs that callers pass to Kernels.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/sparse.hpp"

namespace sparsecoll {

/// The residual (error feedback) of one call: the call reads one buffer and writes the other.
/// Either both are null, for no residual, or neither is.
struct ResidualView {
  const void* read = nullptr;
  void* write = nullptr;
};

/// The dense vector that one rank contributes. Its values have the tensor's type.
struct Gradient {
  const void* values = nullptr;
  size_t count = 0;  ///< number of values, or of blocks
  ResidualView residual;
};

/// Dense vectors of one length, of the tensor's type, whose sum is the gradient of a selection.
/// They may lie in other processes.
class SummedVectors {
 public:
  virtual ~SummedVectors() = default;
  /// Returns the number of vectors, at least 1.
  virtual size_t number() const = 0;
  /// Returns elements [begin, begin + count) of a vector: where they lie, or copied to `copy`. Null
  /// if they cannot be read; then none of the later reads need succeed. Threads may call it at
  /// once.
  virtual const void* read(size_t vector, size_t begin, size_t count, void* copy) = 0;
  /// Copies `count` elements from each of `begins` to `copy`, one group after another. Returns
  /// false if they cannot be read.
  virtual bool read_groups(size_t vector, std::span<const size_t> begins, size_t count,
                           void* copy) = 0;
};

enum class ResidualRule : int { conserving = 0, paper = 1 };

/// The input of Kernels::put_back().
struct Feedback {
  SparseSpan sent;       ///< the entries that this rank sent
  SparseSpan delivered;  ///< the entries that the collective delivered
  SparseSpan dropped;    ///< the entries that this rank dropped while it merged; may be empty
  ResidualRule rule = ResidualRule::conserving;
};

/// The range of the keys of a value type. Keys order values by magnitude (core/numeric.hpp), and
/// blocks by the sum of their squares.
struct KeySpace {
  uint64_t end;            ///< one more than the largest key
  int octave;              ///< 2^octave keys span a factor of two in magnitude
  bool of_blocks = false;  ///< keys of rounded values have no common factor
};

/// A partition of a range of keys into `bins` bins of 2^shift keys each. The range begins at
/// `begin`, which is at least 1.
struct KeyBins {
  uint64_t begin = 1;
  int shift = 0;
  size_t bins = 0;

  uint64_t end() const { return begin + (uint64_t{bins} << shift); }
};

/// The condition of a selection: an entry passes if its key is above `key`, or if it is among the
/// first `ties` entries, by index, whose key equals `key`. By default every non-zero passes.
struct Threshold {
  uint64_t key = 0;
  uint64_t ties = 0;
};

/// The changes of this rank's numerator x in one step of push-sum.
struct PushSumUpdate {
  std::span<const double> shares;  ///< the shares of x that were sent; each product is rounded
  std::span<const void* const> arrived;  ///< the received vectors, in the order of their addition
  const void* net = nullptr;             ///< the sum of all compressed changes; null: none
  double weight = 1;                     ///< the weight w after the step
  const double* weight_at = nullptr;     ///< w in the backend's memory, instead of `weight`
};

/// Packed messages in one slab of memory. Message p has size[p] bytes and begins at slab +
/// offset[p]. The kHeadroom bytes in front of each message are free for the sender's frame header.
/// `offset` and `size` are counts (Kernels::counts()). The slab may lie in the host's memory even
/// if the backend is a device; see wait_packed().
struct Packets {
  std::byte* slab = nullptr;
  uint64_t* offset = nullptr;
  uint64_t* size = nullptr;
  size_t capacity = 0;
  const bool* plain = nullptr;  ///< by message: it goes to a rank to which plain messages are the
                                ///< fastest; null: none does. A device codes all messages.
};
inline constexpr size_t kHeadroom = 64;

/// A received message and the region that its indices are relative to. The bytes lie where
/// pack_all() writes messages.
struct Message {
  ConstBytes bytes;
  Region region;
  uint64_t moved = 0;  ///< how much higher the receiver's indices are than the sender's
};

}  // namespace sparsecoll
