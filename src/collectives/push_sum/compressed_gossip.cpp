// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Compressed gossip for push-sum: what a receiver knows of x is kept on both ends of an edge and
// brought up to date k entries at a time, as in CHOCO-SGD (Koloskova, Stich, Jaggi, ICML 2019).
// Edge from i to j, whose copy is zero at first, with gamma = `mixing`:
//
//   1. change = x_i - copy.
//   2. Send the top-k of change; copy += what was sent.
//   3. The sender moves the mass gamma p_ji copy: x_i -= gamma p_ji copy, w_i -= gamma p_ji w_i.
//   4. The receiver: copy += what came; x_j += gamma p_ji copy, w_j += the weight that came along.
//
// Cost per step and edge: a message of k entries, a copy of n values on either end.
// All of it in the accumulation type, but what is sent is rounded to the tensor's.
// Guarantees: both copies have the same bits (the sender's is kept negated), so the mass that
// leaves is the mass that arrives, and sums are conserved as without compression. Converges for
// gamma small enough for k / n (0.5 at 10%, 0.02 at 1%); a gamma that is too large diverges.
#include <algorithm>
#include <cstring>

#include "collectives/push_sum/push_sum.hpp"
#include "core/error.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

class CompressedGossip final : public GossipCodec {
 public:
  explicit CompressedGossip(const PushSumShape& shape) : shape_(shape) {}

  double moved(const Neighbour& to) const override { return shape_.mixing * to.share; }

  Buffer pack(const GossipContext& call, const Neighbour& to, const void* x,
              StepUpdate& ledger) override {
    Kernels& kernels = call.kernels;
    void* negated = copy_of(call, sent_, to.rank);
    const Region whole{0, shape_.count};
    const SparseBuffer top = kernels.sparse(std::min(shape_.k, shape_.count));
    const Packets packets = kernels.packets(top.capacity, {&whole, 1}, Precision::stored);
    {
      const Stopwatch watch(call.stats, Phase::select);
      // 1. x plus the negated copy: what error feedback does with a residual. What it leaves is of
      // no use here.
      kernels.accumulate_select({x, shape_.count, {negated, kernels.bytes(bytes())}}, top.capacity,
                                top);
    }
    // 2.
    const SparseSpan change = top.span().stored();
    kernels.pack_all(change, {&whole, 1}, packets);
    kernels.push_sum_follow(change, -1, negated);
    // 3.
    kernels.push_sum_move(negated, shape_.count, moved(to), net(call, ledger));
    call.stats.selected += kernels.read(top.nnz);
    const uint64_t size = kernels.read(packets.size);
    Buffer message = call.channel->transport().pool().take(kGossipRoom + size);
    const std::byte* const packed = packets.slab + kernels.read(packets.offset);
    kernels.wait_packed(packed + size);
    std::memcpy(message.data() + kGossipRoom, packed, size);
    return message;
  }

  void unpack(const GossipContext& call, const GossipMessage& mail, StepUpdate& ledger) override {
    Kernels& kernels = call.kernels;
    void* copy = copy_of(call, received_, mail.peer);
    // 4.
    const Message message{mail.body(), {0, shape_.count}};
    const SparseBuffer change =
        kernels.sparse(wire_entries(message.bytes, kernels.data_type(), shape_.count));
    uint64_t* fault = kernels.counts(1);
    kernels.unpack_all({&message, 1}, {&change, 1}, fault);
    if (kernels.read(fault) != 0)
      fail(sparsecollRemoteError, "rank ", mail.peer,
           " sent a malformed message: expected sound counts and indices");
    kernels.push_sum_follow(change.span(), 1, copy);
    kernels.push_sum_move(copy, shape_.count, mail.header.share, net(call, ledger));
  }

  Copies* sent_copies() override { return &sent_; }
  Copies* received_copies() override { return &received_; }

 private:
  size_t bytes() const { return shape_.copy_bytes(); }

  void* copy_of(const GossipContext& call, Copies& copies, int peer) const {
    const auto found = copies.find(peer);
    if (found != copies.end()) return found->second.data();
    Block block(call.memory, bytes());
    call.kernels.zero(block.data(), shape_.count);
    return copies.emplace(peer, std::move(block)).first->second.data();
  }

  /// What all messages of a call move, together.
  void* net(const GossipContext& call, StepUpdate& ledger) const {
    if (ledger.net) return ledger.net;
    ledger.net = call.kernels.bytes(bytes());
    call.kernels.zero(ledger.net, shape_.count);
    return ledger.net;
  }

  PushSumShape shape_;
  Copies sent_;  ///< negated
  Copies received_;
};

}  // namespace

std::unique_ptr<GossipCodec> make_compressed_gossip(const PushSumShape& shape) {
  return std::make_unique<CompressedGossip>(shape);
}

}  // namespace sparsecoll
