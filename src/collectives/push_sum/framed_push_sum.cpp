// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum over messages that may arrive at any time. The numbers are those of push_sum.cpp.
#include "collectives/push_sum/framed_push_sum.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr uint64_t kAllCalls = ~uint64_t{0};  // larger than the number of any call

// A message whose step is this far ahead of the expected step is refused without a look at the
// graph.
constexpr uint64_t kLongestGap = uint64_t{1} << 32;

// A step with this many messages, and with more than a few from each rank, adds only the messages
// that it must.
constexpr size_t kManyMessages = 1024;
constexpr size_t kManyBytes = size_t{1} << 28;

/// A message that was received.
struct GossipMessage {
  int peer;
  GossipHeader header;
  Frame frame;

  ConstBytes body() const { return frame.payload().subspan(sizeof(GossipHeader)); }
};

/// Throws RemoteError if this frame shows that its sender is in another collective call. Gossip is
/// accepted from any call, and a peer may be a call ahead.
void check_not_in_other_call(uint64_t sequence, int peer, const Frame& frame) {
  if (frame.kind() == FrameKind::gossip || frame.header.sequence > sequence) return;
  if (frame.header.sequence == sequence)
    fail(sparsecollRemoteError, "rank ", peer, " called another function, this rank pushSumStep");
  fail(sparsecollRemoteError, "rank ", peer, " sent a message of call ", frame.header.sequence,
       " during call ", sequence);
}

}  // namespace

class FramedPushSum::FramedRound final : public PushSum::Round {
 public:
  FramedRound(FramedPushSum& state, const FramedCallContext& call, const GossipContext& context,
              const Tensors& tensors)
      : Round(state, context, tensors), own_(state), call_(call) {
    update_.weight = state.weight_;
  }

 protected:
  void send(const Neighbour& to) override;
  void receive() override;
  void receive_all() override;
  void add_received() override;
  void finish_step() override {}
  void finish_drain() override;

 private:
  Buffer pack(const Neighbour& to);
  Buffer pack_whole(const Neighbour& to);
  Buffer pack_compressed(CompressedGossip& compressed, const Neighbour& to);
  Buffer take_message(size_t body_bytes) {
    return call_.channel.transport().pool().take_fitting(kGossipHeaders + body_bytes);
  }
  void receive_required();
  /// Takes the peer's messages of calls before number `before` out of the channel.
  void receive_from(int peer, uint64_t before);
  /// Returns whether this step adds the peer's next message.
  bool adds_next_of(int peer) const;
  /// Returns whether this step has enough messages: from then on it adds only those for which it
  /// waits. A drain adds all.
  bool has_many_messages() const;
  /// Checks that this is the next message that the graph has for this edge, and counts it.
  void count(const GossipMessage& message);
  /// Returns the peers whose required messages are missing.
  std::vector<int> missing() const;
  void unpack(const GossipMessage& message);

  FramedPushSum& own_;
  FramedCallContext call_;
  std::vector<GossipMessage> messages_;
  size_t bytes_ = 0;  ///< bytes of messages_
  bool drains_ = false;
};

FramedPushSum::FramedPushSum(const PushSumShape& shape, const Graph& graph)
    : PushSum(shape, graph),
      received_until_(static_cast<size_t>(graph.ranks())),
      required_until_(received_until_.size()) {}

void FramedPushSum::resume(uint64_t step, double weight) {
  step_ = step;
  weight_ = weight;
  sent_ = false;
  std::ranges::fill(received_until_, step);
  std::ranges::fill(required_until_, 0);
}

void FramedPushSum::find_neighbours(int rank, bool) {
  // 1.
  destinations_ = graph_.out_neighbours(rank, step_);
  const auto delay = static_cast<uint64_t>(shape_.max_delay);
  sources_.clear();
  if (shape_.max_delay == kNeverWaits || step_ < delay) return;
  sources_ = graph_.in_neighbours(rank, step_ - delay);
}

void FramedPushSum::step(const FramedCallContext& call, const GossipContext& context,
                         const Tensors& tensors) {
  FramedRound(*this, call, context, tensors).step();
}

void FramedPushSum::drain(const FramedCallContext& call, const GossipContext& context,
                          const Tensors& tensors) {
  FramedRound(*this, call, context, tensors).drain();
}

// 2. Send.

void FramedPushSum::FramedRound::send(const Neighbour& to) {
  refuse_passed(call_.deadline);
  const double share = own_.moved_share(to);
  const GossipHeader gossip{own_.shape_.id, own_.step_, share, share * own_.weight_};
  Buffer message = pack(to);
  std::memcpy(message.data() + sizeof(FrameHeader), &gossip, sizeof gossip);
  update_.weight -= gossip.weight;
  context_.stats.bytes_sent += message.size();
  ++context_.stats.messages_sent;
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::gossip);
  header.sequence = call_.sequence;
  call_.channel.hand_over(to.rank, header, std::move(message));
}

Buffer FramedPushSum::FramedRound::pack(const Neighbour& to) {
  const Stopwatch watch(context_.stats, Phase::pack);
  CompressedGossip* const compressed = own_.compressed();
  return compressed ? pack_compressed(*compressed, to) : pack_whole(to);
}

Buffer FramedPushSum::FramedRound::pack_whole(const Neighbour& to) {
  Buffer message = take_message(own_.vector_bytes());
  const Bytes body{message.data() + kGossipHeaders, own_.vector_bytes()};
  std::byte* const part = kernels().download_buffer(body);
  kernels().push_sum_share(tensors_.x, own_.shape_.count, to.share, part);
  kernels().download(part, body);
  update_.shares.push_back(to.share);
  return message;
}

Buffer FramedPushSum::FramedRound::pack_compressed(CompressedGossip& compressed,
                                                   const Neighbour& to) {
  const auto [packets, entries] =
      compressed.pack(context_, {to.rank, own_.moved_share(to)}, tensors_.x, update_);
  context_.stats.selected += kernels().read(entries);
  const uint64_t size = kernels().read(packets.size);
  Buffer message = take_message(size);
  const std::byte* const packed = packets.slab + kernels().read(packets.offset);
  kernels().wait_packed(packed + size);
  std::memcpy(message.data() + kGossipHeaders, packed, size);
  return message;
}

// 3. Receive.

void FramedPushSum::FramedRound::receive() {
  const int delay = own_.shape_.max_delay;
  for (const int peer : own_.sources_)
    own_.required_until_[static_cast<size_t>(peer)] = own_.step_ - static_cast<uint64_t>(delay) + 1;
  const Stopwatch watch(context_.stats, Phase::exchange);
  receive_required();
  // With tau = 0 this step has nothing else to do, so it waits until its own messages have
  // left.
  if (delay == 0) call_.channel.flush_handed_over(call_.deadline);
}

void FramedPushSum::FramedRound::receive_required() {
  Channel& channel = call_.channel;
  const auto check = [&](int peer, const Frame& frame) {
    check_not_in_other_call(call_.sequence, peer, frame);
  };
  for (int peer = 0; peer < channel.size(); ++peer)
    for (const Frame& frame : channel.queue(peer)) check(peer, frame);
  const auto take_messages = [&](std::vector<int>& awaited) {
    // Each step begins with another rank, in case it does not add all messages.
    const auto first = static_cast<int>(own_.step_ % static_cast<uint64_t>(channel.size()));
    for (int i = 0; i < channel.size(); ++i) receive_from((first + i) % channel.size(), kAllCalls);
    awaited = missing();
  };
  channel.wait(missing(), {.deadline = call_.deadline,
                           .on_frame = check,
                           .update = take_messages,
                           .missing = [](const std::vector<int>& awaited) {
                             return text("nothing was heard from ", name_ranks(awaited));
                           }});
  for (const GossipMessage& each : messages_)
    context_.stats.bytes_received += each.frame.buffer.size();
}

void FramedPushSum::FramedRound::receive_all() {
  // A peer that has left this drain may have sent messages of its next step. Those have the number
  // of a later call and wait for the next step of this rank.
  drains_ = true;
  for (int peer = 0; peer < call_.channel.size(); ++peer) receive_from(peer, call_.sequence);
}

void FramedPushSum::FramedRound::receive_from(int peer, uint64_t before) {
  FrameQueue& frames = call_.channel.gossip(peer);
  for (auto each = frames.begin(); each != frames.end();) {
    GossipHeader header;
    std::memcpy(&header, each->payload().data(), sizeof header);
    if (header.state != own_.shape_.id) {
      ++each;
      continue;
    }
    if (!adds_next_of(peer) || each->header.sequence >= before) return;
    messages_.push_back({peer, header, call_.channel.take_gossip(peer, each)});
    bytes_ += messages_.back().frame.buffer.size();
    count(messages_.back());
  }
}

bool FramedPushSum::FramedRound::adds_next_of(int peer) const {
  // A peer may be a step ahead. With tau = 0 every run adds the same messages: those of this step.
  const auto p = static_cast<size_t>(peer);
  if (own_.received_until_[p] < own_.required_until_[p]) return true;
  return own_.shape_.max_delay != 0 && !has_many_messages();
}

bool FramedPushSum::FramedRound::has_many_messages() const {
  if (drains_) return false;
  const size_t few = 4 * own_.received_until_.size();
  return messages_.size() >= std::max(few, kManyMessages) ||
         (messages_.size() >= few && (bytes_ >= kManyBytes || call_.deadline.passed()));
}

void FramedPushSum::FramedRound::count(const GossipMessage& message) {
  const int rank = call_.channel.rank();
  uint64_t& received_until = own_.received_until_[static_cast<size_t>(message.peer)];
  const uint64_t step = message.header.step;
  const auto sends = [&](uint64_t at) { return own_.graph_.sends(message.peer, rank, at); };
  bool expected = step >= received_until && step - received_until < kLongestGap && sends(step);
  for (uint64_t at = received_until; expected && at < step; ++at) expected = !sends(at);
  if (!expected)
    fail(sparsecollRemoteError, "rank ", message.peer, " sent a message of step ", step,
         ", expected its next one from step ", received_until, " on");
  received_until = step + 1;
}

std::vector<int> FramedPushSum::FramedRound::missing() const {
  std::vector<int> peers;
  for (size_t r = 0; r < own_.required_until_.size(); ++r)
    if (own_.received_until_[r] < own_.required_until_[r]) peers.push_back(static_cast<int>(r));
  return peers;
}

// 4. and 5. Update x and w, compute the estimate.

void FramedPushSum::FramedRound::add_received() {
  const Stopwatch watch(context_.stats, Phase::reduce);
  std::ranges::sort(messages_, {}, [](const GossipMessage& each) {
    return std::pair(each.header.step, each.peer);
  });
  for (const GossipMessage& each : messages_) {
    unpack(each);
    update_.weight += each.header.weight;
  }
  apply_update();
  kernels().read(kernels().counts(1));  // waits until the messages' memory is no longer read
  own_.weight_ = update_.weight;
}

void FramedPushSum::FramedRound::unpack(const GossipMessage& message) {
  const ConstBytes body = message.body();
  if (CompressedGossip* const compressed = own_.compressed()) {
    uint64_t* const fault = kernels().counts(1);
    compressed->unpack(context_, {message.peer, message.header.share}, body, fault, update_);
    if (kernels().read(fault) != 0)
      fail(sparsecollRemoteError, "rank ", message.peer,
           " sent a malformed message: expected sound counts and indices");
    return;
  }
  if (body.size() != own_.vector_bytes())
    fail(sparsecollRemoteError, "rank ", message.peer, " sent a part of ", body.size(),
         " bytes, expected ", own_.vector_bytes());
  update_.received.push_back(kernels().upload(body));
}

void FramedPushSum::FramedRound::finish_drain() {
  // No peer has sent other messages in the steps before this one.
  std::ranges::fill(own_.received_until_, own_.step_);
}

}  // namespace sparsecoll
