// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum messages that hold everything: step 2 of push_sum.cpp as it stands.
#include "collectives/push_sum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The whole part p_ji x as it is.
class WholeCarrier final : public Carrier {
 public:
  explicit WholeCarrier(const PushSumShape& shape)
      : count_(shape.count), bytes_(shape.count * size_of(shape.type)) {}

  double moved(const Neighbour& to) const override { return to.share; }

  Buffer pack(const GossipCall& call, const Neighbour& to, const void* x, Ledger& ledger) override {
    Buffer message = call.channel->transport().pool().take(kGossipRoom + bytes_);
    const Bytes body{message.data() + kGossipRoom, bytes_};
    std::byte* const part = call.kernels.stand_in(body);
    call.kernels.push_sum_share(x, count_, to.share, part);
    call.kernels.download(part, body);
    ledger.shares.push_back(to.share);
    return message;
  }

  void unpack(const GossipCall& call, const GossipMail& mail, Ledger& ledger) override {
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

std::unique_ptr<Carrier> make_whole_carrier(const PushSumShape& shape) {
  return std::make_unique<WholeCarrier>(shape);
}

}  // namespace sparsecoll
