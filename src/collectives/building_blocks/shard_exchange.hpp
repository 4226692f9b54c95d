// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Exchange by shard among the ranks of a node. Each rank sends every shard of its vector, dense, to
// the shard's owner on its node; each owner sends its result to the other ranks of the node.
#pragma once

#include "collectives/interface/algorithm.hpp"
#include "collectives/network/shards.hpp"
#include "core/process_memory.hpp"

namespace sparsecoll {

/// The node of this rank, its shards, and the messages between its ranks. A rank's position is its
/// index among the ranks of the node; the rank at position s owns shard s, if that shard exists.
class ShardExchange {
 public:
  ShardExchange(Env& env, const Problem& problem);

  /// Returns the number of owners on the node, which is that of shards.
  size_t owners() const { return static_cast<size_t>(shards_.number()); }
  bool owns() const { return position_ < owners(); }
  /// Returns whether some ranks of the node own no shard.
  bool has_others() const { return ranks_.size() > owners(); }
  size_t position() const { return position_; }
  Region region(size_t shard) const { return shards_.region(static_cast<int>(shard)); }
  size_t quota(size_t shard) const { return shards_.quota(static_cast<int>(shard), k_); }

  /// Brings each shard of this rank's gradient, `count` values, to its owner. Returns the vectors
  /// of the node's ranks in this rank's shard, in rank order, or only their sum: dense, and of the
  /// accumulation type. Returns no vectors if this rank owns no shard, if no other rank shares the
  /// node, or if `select` returned true.
  ///
  /// An owner reads long shards in the memory of the other ranks: it calls `select` with them,
  /// which returns false if it cannot select from their sum; then it adds them. If it cannot read
  /// one of them, it gets all as messages. A rank returns only when nobody reads its gradient any
  /// more; if it fails before that, the owner finds that the offer has ended.
  std::span<const SparseSpan> exchange_shards(const void* gradient, uint64_t count,
                                              FunctionRef<bool(SummedVectors&)> select);
  /// Sends the owners' results to all ranks of the node. `own`, if this rank owns a shard, is its
  /// result, with indices from the start of the shard. Returns the results of all shards.
  SparseSpan exchange_results(const SparseSpan& own);
  /// Sends the owners' numbers to all ranks of the node. Returns them, by shard.
  std::span<const uint64_t> exchange_numbers(uint64_t own);

 private:
  Count counted(uint64_t count);
  /// Returns whether the ranks of the node add equal shards by a reduce-scatter, in any order. All
  /// ranks of a node get the same answer.
  bool reduces_in_node(uint64_t count) const;
  /// Returns the sum of the node's gradients in this rank's shard.
  std::span<const SparseSpan> reduce_in_node(const void* gradient);
  /// Returns whether owners try to read the shards. All ranks of a node get the same answer.
  bool reads_shards(uint64_t count) const;
  /// The result of reading the gradients of the node's ranks in this rank's shard.
  struct ReadShard {
    bool selected = false;  ///< `select` has used the gradients
    SparseSpan sum;         ///< otherwise the sum of the gradients; without values if one could not
                            ///< be read
    bool was_read() const { return selected || sum.value; }
  };
  /// Offers this rank's gradient to the owners, and reads the gradients of the other ranks. Sets
  /// `taken`, by position, for the owners that have read this rank's gradient.
  ReadShard read_shards(const void* gradient, FunctionRef<bool(SummedVectors&)> select,
                        std::span<bool> taken);
  ReadShard read_offered_shard(const void* gradient, std::span<const MemoryOffer> offers,
                               FunctionRef<bool(SummedVectors&)> select);
  /// Sends host memory to some ranks of the node, and receives as many bytes from some. Functions
  /// of a rank's position choose both.
  std::span<const Transfer> exchange_bytes(FunctionRef<ConstBytes(size_t position)> out,
                                           FunctionRef<size_t(size_t position)> in);
  /// Returns the bytes of a message with all values of a shard.
  size_t dense_bytes(size_t shard) const;
  Packet pack(const SparseSpan& in, const Region& region, size_t agreed_bytes);
  /// Sets the vectors of the ranks from which messages have arrived. Kernels read them in the
  /// messages if they can.
  void unpack_dense(std::span<const Transfer> transfers, std::span<SparseSpan> vectors);
  /// Returns transfers of one packet to all other ranks of the node, beginning with the next one.
  std::span<Transfer> transfers_of(const Packet& packet);
  size_t position_of(int rank) const;

  Env& env_;
  const Shards shards_;
  std::span<const int> ranks_;
  size_t position_;
  size_t k_;
};

}  // namespace sparsecoll
