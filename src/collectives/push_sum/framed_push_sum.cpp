// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Push-sum: Stochastic Gradient Push and Overlap SGP (Assran, Loizou, Ballas, Rabbat, ICML 2019).
// Step t of rank i, which has the numerator x and the weight w (1 at first):
//
//   1. The graph names out-neighbours j with parts p_ji, and in-neighbours.
//   2. Send p_ji (x, w) to each out-neighbour j.
//   3. Take in what has come; wait for the messages of steps <= t - tau of those who sent to i
//      then (tau = 0: for exactly those of step t; tau = -1: for none).
//   4. x := x - what was sent + what came in, in the order of steps, then ranks; w likewise.
//   5. estimate = x / w.
//
// Cost per step: one message of n values for each out-neighbour, in and out; nothing else, no round
// of agreement. Messages that are not taken in yet wait at the receiver, in a block of their own.
// Guarantees: sum of x and sum of w over ranks and messages under way stay what they are, up to the
// rounding of step 4, for every graph, P and tau. With tau = 0 the same bits in every run. x is
// written when everything that had to come has come, and not before.
#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/push_sum/push_sum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr uint64_t kNoCall = ~uint64_t{0};  // after all calls

constexpr uint64_t kLongestGap = uint64_t{1} << 32;

class FramedPushSum final : public PushSum {
 public:
  FramedPushSum(const PushSumShape& shape, const Graph& graph)
      : PushSum(shape, graph),
        carrier_(shape.k == 0 ? make_dense_gossip(shape) : make_compressed_gossip(shape)),
        heard_(static_cast<size_t>(graph.ranks())),
        due_(heard_.size()) {}

  GossipCodec::Copies* sent_copies() override { return carrier_->sent_copies(); }
  GossipCodec::Copies* received_copies() override { return carrier_->received_copies(); }
  void resume(uint64_t step, double weight) override;
  void look_ahead(int rank, bool captured) override;
  void step(const GossipContext& call, const Tensors& tensors) override;
  void drain(const GossipContext& call, const Tensors& tensors) override;

 private:
  void send(const GossipContext& call, const Neighbour& to, const void* x, StepUpdate& ledger);
  void collect(const GossipContext& call, std::vector<GossipMessage>& mail);
  /// What that peer sent in calls before number `before`.
  void collect_from(Channel& channel, int peer, uint64_t before, std::vector<GossipMessage>& mail);
  void account(int rank, const GossipMessage& mail);
  bool takes(int peer) const;
  std::vector<int> absent() const;
  void absorb(const GossipContext& call, std::vector<GossipMessage>& mail, StepUpdate& ledger,
              const Tensors& tensors);

  std::unique_ptr<GossipCodec> carrier_;
  std::vector<uint64_t> heard_;  ///< by peer: its messages of steps below this one are absorbed
  std::vector<uint64_t> due_;    ///< by peer: those of steps below this one must be
  std::vector<Neighbour> to_;    ///< out-neighbours of the next step
  std::vector<int> from_;        ///< whose messages of step t - tau the next step t waits for
};

void FramedPushSum::resume(uint64_t step, double weight) {
  step_ = step;
  weight_ = weight;
  sent_ = false;
  std::ranges::fill(heard_, step);
  std::ranges::fill(due_, 0);
}

void FramedPushSum::look_ahead(int rank, bool) {
  // 1.
  to_ = graph_.out_neighbours(rank, step_);
  const auto delay = static_cast<uint64_t>(shape_.max_delay);
  from_.clear();
  if (shape_.max_delay == kNeverWaits || step_ < delay) return;
  from_ = graph_.in_neighbours(rank, step_ - delay);
}

void FramedPushSum::step(const GossipContext& call, const Tensors& tensors) {
  StepUpdate ledger{weight_, {}, {}};
  // 2.
  sent_ = graph_.ranks() > 1;
  for (const Neighbour& to : to_) send(call, to, tensors.x, ledger);
  // 3.
  for (const int peer : from_)
    due_[static_cast<size_t>(peer)] = step_ - static_cast<uint64_t>(shape_.max_delay) + 1;
  std::vector<GossipMessage> mail;
  {
    const Stopwatch watch(call.stats, Phase::exchange);
    collect(call, mail);
    // Who waits for all may as well see them off: nothing of the step is left to do then.
    if (shape_.max_delay == 0) call.channel->flush_handed_over(call.deadline);
  }
  // 4. and 5.
  absorb(call, mail, ledger, tensors);
  ++step_;
}

void FramedPushSum::drain(const GossipContext& call, const Tensors& tensors) {
  StepUpdate ledger{weight_, {}, {}};
  std::vector<GossipMessage> mail;
  const int ranks = call.channel->size();
  // A peer that has left this call may be at its next step already: that is not of this drain.
  for (int peer = 0; peer < ranks; ++peer) collect_from(*call.channel, peer, call.sequence, mail);
  absorb(call, mail, ledger, tensors);
  // Steps in which a peer did not send to this rank count as heard.
  std::ranges::fill(heard_, step_);
  sent_ = false;
}

void FramedPushSum::send(const GossipContext& call, const Neighbour& to, const void* x,
                         StepUpdate& ledger) {
  const GossipHeader gossip{shape_.id, step_, carrier_->moved(to), carrier_->moved(to) * weight_};
  Buffer message;
  {
    const Stopwatch watch(call.stats, Phase::pack);
    message = carrier_->pack(call, to, x, ledger);
  }
  std::memcpy(message.data() + sizeof(FrameHeader), &gossip, sizeof gossip);
  ledger.weight -= gossip.weight;
  call.stats.bytes_sent += message.size();
  ++call.stats.messages_sent;
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::gossip);
  header.sequence = call.sequence;
  call.channel->hand_over(to.rank, header, std::move(message));
}

/// Gossip apart, a peer may be a call ahead, but must not make another call now.
void examine(const GossipContext& call, int peer, const Frame& frame) {
  if (frame.kind() == FrameKind::gossip || frame.header.sequence > call.sequence) return;
  if (frame.header.sequence == call.sequence)
    fail(sparsecollRemoteError, "rank ", peer, " called another function, this rank pushSumStep");
  fail(sparsecollRemoteError, "rank ", peer, " sent a message of call ", frame.header.sequence,
       " during call ", call.sequence);
}

std::vector<int> FramedPushSum::absent() const {
  std::vector<int> peers;
  for (size_t r = 0; r < due_.size(); ++r)
    if (heard_[r] < due_[r]) peers.push_back(static_cast<int>(r));
  return peers;
}

void FramedPushSum::collect(const GossipContext& call, std::vector<GossipMessage>& mail) {
  Channel& channel = *call.channel;
  const auto look = [&](int peer, const Frame& frame) { examine(call, peer, frame); };
  for (int peer = 0; peer < channel.size(); ++peer)
    for (const Frame& frame : channel.queue(peer)) look(peer, frame);
  for (;;) {
    // Who was gone before the last look at the mail will not be heard of again.
    const std::vector<int> gone = channel.gone(absent());
    const auto missing = [&] { return text("nothing was heard from ", name_ranks(absent())); };
    try {
      channel.pump(look);
    } catch (const PeerTimeout&) {
      // Who is missing there is missing here too, unless this rank came late itself.
      if (!call.deadline.mostly_passed()) throw;
      fail(sparsecollTimeout, "deadline passed, ", missing());
    }
    for (int peer = 0; peer < channel.size(); ++peer) collect_from(channel, peer, kNoCall, mail);
    if (absent().empty()) break;
    channel.give_up_on(gone, absent());
    channel.pause(call.deadline, missing);
  }
  for (const GossipMessage& each : mail) call.stats.bytes_received += each.frame.buffer.size();
}

bool FramedPushSum::takes(int peer) const {
  if (shape_.max_delay != 0) return true;
  // Of a peer that is ahead only what belongs to this step, so that every run adds the same.
  return heard_[static_cast<size_t>(peer)] < due_[static_cast<size_t>(peer)];
}

void FramedPushSum::collect_from(Channel& channel, int peer, uint64_t before,
                                 std::vector<GossipMessage>& mail) {
  std::deque<Frame>& frames = channel.gossip(peer);
  for (auto each = frames.begin(); each != frames.end();) {
    GossipHeader header;
    std::memcpy(&header, each->payload().data(), sizeof header);
    if (header.state != shape_.id) {
      ++each;
      continue;
    }
    if (!takes(peer) || each->header.sequence >= before) return;
    mail.push_back({peer, header, std::move(*each)});
    each = frames.erase(each);
    account(channel.rank(), mail.back());
  }
}

void FramedPushSum::account(int rank, const GossipMessage& mail) {
  uint64_t& heard = heard_[static_cast<size_t>(mail.peer)];
  const uint64_t step = mail.header.step;
  const auto sends = [&](uint64_t at) { return graph_.sends(mail.peer, rank, at); };
  bool expected = step >= heard && step - heard < kLongestGap && sends(step);
  for (uint64_t at = heard; expected && at < step; ++at) expected = !sends(at);
  if (!expected)
    fail(sparsecollRemoteError, "rank ", mail.peer, " sent a message of step ", step,
         ", expected its next one from step ", heard, " on");
  heard = step + 1;
}

void FramedPushSum::absorb(const GossipContext& call, std::vector<GossipMessage>& mail,
                           StepUpdate& ledger, const Tensors& tensors) {
  const Stopwatch watch(call.stats, Phase::reduce);
  std::ranges::sort(
      mail, {}, [](const GossipMessage& each) { return std::pair(each.header.step, each.peer); });
  for (const GossipMessage& each : mail) {
    carrier_->unpack(call, each, ledger);
    ledger.weight += each.header.weight;
  }
  call.kernels.push_sum_absorb({ledger.shares, ledger.arrived, ledger.net, ledger.weight},
                               shape_.count, tensors.x, tensors.estimate);
  call.kernels.read(call.kernels.counts(1));  // then the mail may go
  weight_ = ledger.weight;
}

}  // namespace

std::unique_ptr<PushSum> make_framed_push_sum(const PushSumShape& shape, const Graph& graph) {
  return std::make_unique<FramedPushSum>(shape, graph);
}

}  // namespace sparsecoll
