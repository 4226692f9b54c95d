// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Compressed gossip in stream order; the numbers are those of compressed_gossip.cpp.
#include "collectives/push_sum/stream_changes.hpp"

#include <algorithm>

#include "kernels/wire.hpp"

namespace sparsecoll {

size_t StreamChanges::bytes(const Kernels& kernels) const {
  return wire_bound(
      {std::min(shape_.k, shape_.count), shape_.count, kernels.wire_value_size(Precision::stored)});
}

uint64_t* StreamChanges::pack(const GossipContext& call, const Edge& to, const void* x, Flow& flow,
                              std::byte* body) {
  Kernels& kernels = call.kernels;
  void* const negated = copy_of(call, sent_, to.peer);
  const Region whole{0, shape_.count};
  const SparseBuffer top = kernels.sparse(std::min(shape_.k, shape_.count));
  const Packets packets = kernels.packets(top.capacity, {&whole, 1}, Precision::stored);
  // 1.
  kernels.accumulate_select({x, shape_.count, {negated, kernels.bytes(shape_.copy_bytes())}},
                            top.capacity, top);
  // 2.
  const SparseSpan change = top.span().stored();
  kernels.pack_all(change, {&whole, 1}, packets);
  // One message starts right behind its headroom; what follows it does not matter.
  kernels.copy(packets.slab + kHeadroom, std::min(bytes(kernels), packets.capacity - kHeadroom),
               body);
  kernels.push_sum_follow(change, -1, negated);
  // 3.
  kernels.push_sum_move(negated, shape_.count, to.share, net(call, flow));
  return top.nnz;
}

void StreamChanges::take(const GossipContext& call, const Edge& from, const std::byte* body,
                         Flow& flow) {
  Kernels& kernels = call.kernels;
  void* const copy = copy_of(call, received_, from.peer);
  // 4.
  const Message message{{body, bytes(kernels)}, {0, shape_.count}};
  const SparseBuffer change = kernels.sparse(std::min(shape_.k, shape_.count));
  kernels.unpack_all({&message, 1}, {&change, 1}, flow.fault);
  kernels.push_sum_follow(change.span(), 1, copy);
  kernels.push_sum_move(copy, shape_.count, from.share, net(call, flow));
}

void* StreamChanges::copy_of(const GossipContext& call, GossipCodec::Copies& copies,
                             int peer) const {
  const auto found = copies.find(peer);
  if (found != copies.end()) return found->second.data();
  Block block(call.memory, shape_.copy_bytes());
  call.kernels.zero(block.data(), shape_.count);
  return copies.emplace(peer, std::move(block)).first->second.data();
}

void* StreamChanges::net(const GossipContext& call, Flow& flow) const {
  if (flow.net) return flow.net;
  flow.net = call.kernels.bytes(shape_.copy_bytes());
  call.kernels.zero(flow.net, shape_.count);
  return flow.net;
}

}  // namespace sparsecoll
