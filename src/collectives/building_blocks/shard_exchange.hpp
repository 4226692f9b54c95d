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
/// place among the ranks of the node; position s owns shard s if there are so many shards.
class ShardExchange {
 public:
  ShardExchange(Env& env, const Problem& problem);

  /// Returns the number of owners on the node, which is that of shards.
  size_t owners() const { return static_cast<size_t>(shards_.number()); }
  bool owns() const { return position_ < owners(); }
  /// Returns whether ranks of the node own no shard.
  bool has_others() const { return ranks_.size() > owners(); }
  size_t position() const { return position_; }
  Region region(size_t shard) const { return shards_.region(static_cast<int>(shard)); }
  size_t quota(size_t shard) const { return shards_.quota(static_cast<int>(shard), k_); }

  /// Brings each shard of this rank's gradient, `count` values, to its owner. Returns the vectors
  /// of the node's ranks in this rank's shard, in rank order, or only their sum: dense, and of the
  /// accumulation type. None if it owns no shard, or if no other rank shares the node.
  ///
  /// An owner adds long shards block by block out of the memory of the other ranks. If it cannot
  /// read one of them, it gets all as messages. A rank returns only when nobody reads its gradient
  /// any more; if it fails before that, the owner finds that the offer has ended.
  std::span<const SparseSpan> exchange_shards(const void* gradient, uint64_t count);
  /// Sends the owners' results to all ranks of the node. `own`, if this rank owns a shard, is its
  /// result, with indices from the start of the shard. Returns the results of all shards.
  SparseSpan exchange_results(const SparseSpan& own);
  /// Sends the owners' numbers to all ranks of the node. Returns them, by shard.
  std::span<const uint64_t> exchange_numbers(uint64_t own);

 private:
  Count counted(uint64_t count);
  /// Returns whether owners try to read the shards. All ranks of a node get the same answer.
  bool reads_shards(uint64_t count) const;
  /// Offers this rank's gradient to the owners. Returns the sum of the gradients in its own shard
  /// if it could read them. Marks by position in `taken` the owners that have read this rank's.
  std::span<const SparseSpan> read_shards(const void* gradient, std::span<bool> taken);
  /// Adds the gradients in this rank's shard, in rank order. Returns a vector without values if it
  /// cannot read one of them.
  SparseSpan add_offered(const void* gradient, std::span<const MemoryOffer> offers);
  /// Sends bytes of the host to some ranks of the node, and receives as many. Both are chosen by
  /// the rank's position.
  std::span<const Transfer> exchange_bytes(FunctionRef<ConstBytes(size_t position)> out,
                                           FunctionRef<size_t(size_t position)> in);
  /// Returns the bytes of a message with all values of a shard.
  size_t dense_bytes(size_t shard) const;
  Packet pack(const SparseSpan& in, const Region& region, size_t agreed_bytes);
  /// Sets the vectors of the ranks from which messages came. They stay in the messages where
  /// kernels can read them there.
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
