// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Compressed gossip: CHOCO-SGD (Koloskova, Stich, Jaggi, Decentralized Stochastic Optimization and
// Gossip Algorithms with Compressed Communication, ICML 2019), applied to push-sum.
//
// Both ends of an edge keep a copy of what the receiver knows of the sender's x (x-hat in the
// paper). Each message updates k entries of it. For the edge from rank i to rank j, with a copy
// that is zero at first and gamma = `mixing`, one step is:
//
//   1. The sender computes change = x_i - copy.
//   2. It sends the top-k of change, and adds the same entries to its copy.
//   3. It moves the mass gamma p_ji copy: x_i -= gamma p_ji copy, w_i -= gamma p_ji w_i.
//   4. The receiver adds the received entries to its copy. It then takes the same mass:
//      x_j += gamma p_ji copy, w_j += the weight in the message.
//
// All arithmetic is in the accumulation type. Values on the wire are rounded to the tensor's type.
//
// Cost per step and edge: one message of k entries. Memory: one vector of n values per edge at
// either end.
//
// Guarantees: both copies have the same bits, so the mass that leaves is the mass that arrives, and
// the sums of x and w are conserved as they are without compression. The method converges if gamma
// is small enough for k / n (0.5 at 10%, 0.02 at 1%), and diverges if gamma is too large.
#include "collectives/push_sum/compressed_gossip.hpp"

#include <algorithm>

#include "kernels/wire.hpp"

namespace sparsecoll {

size_t CompressedGossip::capacity() const { return std::min(shape_.k, shape_.count); }

size_t CompressedGossip::message_bound(const Kernels& kernels) const {
  return wire_bound({capacity(), shape_.count, kernels.wire_value_size(Precision::stored)});
}

CompressedGossip::PackedChange CompressedGossip::pack(const GossipContext& context, const Edge& to,
                                                      const void* x, StepUpdate& update) {
  Kernels& kernels = context.kernels;
  void* const negated = copy_for(context, sent_, to.peer);
  const Region whole{0, shape_.count};
  const SparseBuffer top = kernels.sparse(capacity());
  const Packets packets = kernels.packets(top.capacity, {&whole, 1}, Precision::stored);
  {
    const Stopwatch watch(context.stats, Phase::select);
    // 1. Since the sender's copy is negated, change = x + copy, as with a residual of error
    // feedback. The new residual has no use here: it goes to a scratch buffer.
    kernels.accumulate_select({x, shape_.count, {negated, kernels.bytes(shape_.copy_bytes())}},
                              top.capacity, top);
  }
  // 2. Pack, and update the copy with the values as they are sent.
  const SparseSpan change = top.span().stored();
  kernels.pack_all(change, {&whole, 1}, packets);
  kernels.push_sum_add_change(change, -1, negated);
  // 3. Add the negated copy: the mass that is sent leaves x.
  kernels.push_sum_mix(negated, shape_.count, to.share, net_of(context, update));
  return {packets, top.nnz};
}

void CompressedGossip::unpack(const GossipContext& context, const Edge& from, ConstBytes message,
                              uint64_t* fault, StepUpdate& update) {
  Kernels& kernels = context.kernels;
  void* const copy = copy_for(context, received_, from.peer);
  // 4. Update the copy, and add the mass to x.
  const Message packed{message, {0, shape_.count}};
  const SparseBuffer change = kernels.sparse(capacity());
  kernels.unpack_all({&packed, 1}, {&change, 1}, fault);
  kernels.push_sum_add_change(change.span(), 1, copy);
  kernels.push_sum_mix(copy, shape_.count, from.share, net_of(context, update));
}

void* CompressedGossip::copy_for(const GossipContext& context, Copies& copies, int peer) const {
  const auto found = copies.find(peer);
  if (found != copies.end()) return found->second.data();
  Block block(context.memory, shape_.copy_bytes());
  context.kernels.zero(block.data(), shape_.count);
  return copies.emplace(peer, std::move(block)).first->second.data();
}

void* CompressedGossip::net_of(const GossipContext& context, StepUpdate& update) const {
  if (update.net) return update.net;
  update.net = context.kernels.bytes(shape_.copy_bytes());
  context.kernels.zero(update.net, shape_.count);
  return update.net;
}

}  // namespace sparsecoll
