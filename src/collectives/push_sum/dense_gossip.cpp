// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum messages that hold everything: step 2 of push_sum.cpp as it stands.
#include "collectives/push_sum/push_sum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The whole part p_ji x as it is.
class DenseGossip final : public GossipCodec {
 public:
  explicit DenseGossip(const PushSumShape& shape)
      : count_(shape.count), bytes_(shape.count * size_of(shape.type)) {}

  double moved(const Neighbour& to) const override { return to.share; }

  Buffer pack(const GossipContext& call, const Neighbour& to, const void* x,
              StepUpdate& ledger) override {
    Buffer message = call.channel->transport().pool().take(kGossipRoom + bytes_);
    const Bytes body{message.data() + kGossipRoom, bytes_};
    std::byte* const part = call.kernels.stand_in(body);
    call.kernels.push_sum_share(x, count_, to.share, part);
    call.kernels.download(part, body);
    ledger.shares.push_back(to.share);
    return message;
  }

  void unpack(const GossipContext& call, const GossipMessage& mail, StepUpdate& ledger) override {
    if (mail.body().size() != bytes_)
      fail(sparsecollRemoteError, "rank ", mail.peer, " sent a part of ", mail.body().size(),
           " bytes, expected ", bytes_);
    ledger.arrived.push_back(call.kernels.upload(mail.body()));
  }

  Copies* sent_copies() override { return nullptr; }
  Copies* received_copies() override { return nullptr; }

 private:
  size_t count_;
  size_t bytes_;
};

}  // namespace

std::unique_ptr<GossipCodec> make_dense_gossip(const PushSumShape& shape) {
  return std::make_unique<DenseGossip>(shape);
}

}  // namespace sparsecoll
