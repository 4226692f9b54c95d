// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Push-sum over messages in the order of CUDA streams (NCCL). The numbers are those of
// push_sum.cpp.
//
// A message cannot wait at a receiver that did not ask for it. Every rank knows from the graph who
// sends to it, and receives in each step exactly the messages of that step:
//
//   2. Pack the messages of this step. The weight p_ji w is at the front of each. w is on the
//      device, so that the host waits for nothing.
//   3. tau = 0: exchange them. tau > 0: the messages of step t - tau are in their buffers.
//   4. and 5. as in push_sum.cpp.
//   6. tau > 0: exchange the messages of this step, concurrently with what is queued next. Step
//      t + tau waits for this exchange. A state with captured steps exchanges in stream order.
//
// All messages have the same size: the bound of k entries with compressed gossip.
//
// Guarantees: those of push_sum.cpp, with the same bits in every run for every tau; for tau = 0
// they are the bits of FramedPushSum. After every step of one period (of the graph's and of tau)
// was made once, a whole period can be captured into a CUDA graph.
#include "collectives/push_sum/stream_push_sum.hpp"

#include <algorithm>
#include <utility>

#include "calls/stream/stream_call.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kBodyOffset = 64;  // where the body begins in a message, behind the weight

}  // namespace

class StreamPushSum::StreamRound final : public PushSum::Round {
 public:
  StreamRound(StreamPushSum& state, const StreamCallContext& call, const GossipContext& context,
              const Tensors& tensors);

  /// Orders a step behind the exchanges whose buffers it uses.
  void order_behind_exchanges();

 protected:
  void send(const Neighbour& to) override;
  void receive() override;
  void receive_all() override;
  void add_received() override;
  void finish_step() override;
  void finish_drain() override;

 private:
  bool is_delayed() const { return own_.shape_.max_delay > 0; }
  size_t message_bytes() const;
  double* weight() const { return reinterpret_cast<double*>(own_.device_weight_.data()); }
  /// Copies w to the device if it is not there. Waits for the copy.
  void copy_weight_to_device();
  /// Makes work that is queued from now on wait for this exchange.
  void wait_for(DelayedExchange& exchange);
  /// Returns kHeadroom bytes and room for the next outgoing message. If the exchange is delayed,
  /// the memory outlives the call.
  std::byte* next_buffer();
  /// Sends and receives the messages of this step. `delayed` owns the receive buffers; null: they
  /// live as long as the call, and later work is ordered behind the exchange.
  std::vector<StreamGossipMessage> exchange(DelayedExchange* delayed);
  void unpack(const StreamGossipMessage& message);
  /// Zeroes the receive buffers of all delayed exchanges, so that graphs and later steps add
  /// nothing until new messages arrive in them.
  void clear_buffers();
  void confirm_counts();

  StreamPushSum& own_;
  StreamCallContext call_;
  std::vector<Transfer> transfers_;
  std::vector<double> outgoing_shares_;        ///< which part of (x, w) each outgoing message moves
  std::vector<double*> outgoing_weights_;      ///< where the weight of each outgoing message is
  std::vector<StreamGossipMessage> messages_;  ///< the messages that this round adds
  uint64_t* fault_;                     ///< number of malformed messages, in memory of the device
  const uint64_t* selected_ = nullptr;  ///< entries of the last compressed message; null: none
};

StreamPushSum::StreamPushSum(const PushSumShape& shape, const Graph& graph)
    : PushSum(shape, graph), exchanges_(static_cast<size_t>(std::max(shape.max_delay, 1))) {}

void StreamPushSum::resume(uint64_t step, double weight) {
  step_ = first_step_ = step;
  weight_ = weight;
  on_device_ = sent_ = false;
  device_weight_ = Block();
  for (DelayedExchange& each : exchanges_) each.messages.clear();
}

void StreamPushSum::find_neighbours(int rank, bool captured) {
  // 1.
  destinations_ = graph_.out_neighbours(rank, step_);
  sources_ = graph_.in_neighbours(rank, step_);
  if (captured && !can_be_captured())
    fail(sparsecollInvalidUsage,
         "stream: expected one that is not captured until a whole period of steps was made, of the "
         "graph's and of maxDelay, got one that is at step ",
         step_);
}

bool StreamPushSum::can_be_captured() {
  if (!on_device_) return false;
  if (shape_.max_delay > 0) {
    const DelayedExchange& exchange = exchange_of(step_);
    if (step_ - first_step_ < exchanges_.size() || exchange.received.size() < sources_.size() ||
        exchange.sent.size() < destinations_.size())
      return false;
  }
  if (!compressed_) return true;
  const auto has_copy_of_destination = [&](const Neighbour& to) {
    return compressed_->sent_copies().contains(to.rank);
  };
  const auto has_copy_of_source = [&](int peer) {
    return compressed_->received_copies().contains(peer);
  };
  return std::ranges::all_of(destinations_, has_copy_of_destination) &&
         std::ranges::all_of(sources_, has_copy_of_source);
}

void StreamPushSum::step(const StreamCallContext& call, const GossipContext& context,
                         const Tensors& tensors) {
  StreamRound round(*this, call, context, tensors);
  round.order_behind_exchanges();
  round.step();
}

void StreamPushSum::drain(const StreamCallContext& call, const GossipContext& context,
                          const Tensors& tensors) {
  StreamRound round(*this, call, context, tensors);
  round.drain();
}

StreamPushSum::StreamRound::StreamRound(StreamPushSum& state, const StreamCallContext& call,
                                        const GossipContext& context, const Tensors& tensors)
    : Round(state, context, tensors), own_(state), call_(call), fault_(context.kernels.counts(1)) {
  copy_weight_to_device();
  update_.device_weight = weight();
}

void StreamPushSum::StreamRound::copy_weight_to_device() {
  if (own_.on_device_) return;
  if (!own_.device_weight_.data())
    own_.device_weight_ = Block(context_.memory, sizeof own_.weight_);
  kernels().copy(kernels().upload(std::as_bytes(std::span(&own_.weight_, 1))), sizeof own_.weight_,
                 own_.device_weight_.data());
  kernels().read(kernels().counts(1));  // weight_ must not change before it was copied
  own_.on_device_ = true;
}

void StreamPushSum::StreamRound::order_behind_exchanges() {
  if (call_.captured && !std::exchange(own_.captured_, true))
    for (DelayedExchange& each : own_.exchanges_) wait_for(each);
  wait_for(own_.exchange_of(own_.step_));
}

void StreamPushSum::StreamRound::wait_for(DelayedExchange& exchange) {
  if (exchange.exchanged) call_.call.wait_for(*exchange.exchanged);
  exchange.exchanged.reset();
}

size_t StreamPushSum::StreamRound::message_bytes() const {
  CompressedGossip* const compressed = own_.compressed();
  return kBodyOffset + (compressed ? compressed->message_bound(kernels()) : own_.vector_bytes());
}

// 2. Pack.

void StreamPushSum::StreamRound::send(const Neighbour& to) {
  const Stopwatch watch(context_.stats, Phase::pack);
  const double share = own_.moved_share(to);
  const size_t bytes = message_bytes();
  std::byte* const data = next_buffer() + kHeadroom;
  std::byte* const body = data + kBodyOffset;
  if (CompressedGossip* const compressed = own_.compressed()) {
    const auto [packets, entries] =
        compressed->pack(context_, {to.rank, share}, tensors_.x, update_);
    // The message starts behind its headroom. The copy may read bytes behind the message, which the
    // receiver ignores.
    kernels().copy(packets.slab + kHeadroom,
                   std::min(bytes - kBodyOffset, packets.capacity - kHeadroom), body);
    selected_ = entries;
  } else {
    kernels().push_sum_share(tensors_.x, own_.shape_.count, to.share, body);
    update_.shares.push_back(to.share);
  }
  outgoing_shares_.push_back(share);
  outgoing_weights_.push_back(reinterpret_cast<double*>(data));
  transfers_.push_back({to.rank, {data, bytes, nullptr, bytes}, 0, {}});
}

std::byte* StreamPushSum::StreamRound::next_buffer() {
  const size_t bytes = kHeadroom + message_bytes();
  if (!is_delayed()) return kernels().bytes(bytes);
  std::vector<Block>& sent = own_.exchange_of(own_.step_).sent;
  const size_t number = transfers_.size();
  if (sent.size() == number) sent.emplace_back(context_.memory, bytes);
  return sent[number].data();
}

// 3. Receive.

void StreamPushSum::StreamRound::receive() {
  kernels().push_sum_split_weight(weight(), outgoing_shares_, outgoing_weights_);
  if (is_delayed())
    messages_ = std::exchange(own_.exchange_of(own_.step_).messages, {});
  else
    messages_ = exchange(nullptr);
}

void StreamPushSum::StreamRound::receive_all() {
  const uint64_t delay = std::min(static_cast<uint64_t>(own_.shape_.max_delay), own_.step_);
  for (uint64_t at = own_.step_ - delay; at < own_.step_; ++at) {
    DelayedExchange& exchange = own_.exchange_of(at);
    wait_for(exchange);
    messages_.insert(messages_.end(), exchange.messages.begin(), exchange.messages.end());
    // Every launch of a graph receives into the same buffers, and the host does not know of it.
    if (!own_.captured_) exchange.messages.clear();
  }
}

std::vector<StreamPushSum::StreamGossipMessage> StreamPushSum::StreamRound::exchange(
    DelayedExchange* delayed) {
  const size_t bytes = message_bytes(), outgoing = transfers_.size();
  for (size_t i = 0; i < own_.sources_.size(); ++i) {
    transfers_.push_back({own_.sources_[i], {}, bytes, {}});
    if (!delayed) continue;
    std::vector<Block>& received = delayed->received;
    if (received.size() == i) received.emplace_back(context_.memory, kHeadroom + bytes);
    transfers_.back().into = received[i].data();
  }
  if (delayed && !own_.captured_)
    delayed->exchanged = call_.call.exchange_concurrently(transfers_);
  else
    call_.call.exchange(transfers_);
  std::vector<StreamGossipMessage> messages;
  for (size_t i = 0; i < own_.sources_.size(); ++i) {
    double share = 0;
    for (const Neighbour& to : own_.graph_.out_neighbours(own_.sources_[i], own_.step_))
      if (to.rank == call_.call.rank()) share = own_.moved_share(to);
    messages.push_back({own_.sources_[i], share, transfers_[outgoing + i].in.data()});
  }
  return messages;
}

// 4. and 5. Update x and w, compute the estimate.

void StreamPushSum::StreamRound::add_received() {
  const Stopwatch watch(context_.stats, Phase::reduce);
  std::vector<const double*> weights;
  for (const StreamGossipMessage& each : messages_) {
    weights.push_back(reinterpret_cast<const double*>(each.data));
    unpack(each);
  }
  kernels().push_sum_add_weights(weight(), weights);
  apply_update();
}

void StreamPushSum::StreamRound::unpack(const StreamGossipMessage& message) {
  const std::byte* const body = message.data + kBodyOffset;
  if (CompressedGossip* const compressed = own_.compressed())
    compressed->unpack(context_, {message.peer, message.share},
                       {body, message_bytes() - kBodyOffset}, fault_, update_);
  else
    update_.received.push_back(body);
}

// 6. Exchange what is added tau steps later.

void StreamPushSum::StreamRound::finish_step() {
  if (is_delayed()) {
    DelayedExchange& delayed = own_.exchange_of(own_.step_);
    delayed.messages = exchange(&delayed);
  }
  confirm_counts();
}

void StreamPushSum::StreamRound::finish_drain() {
  if (own_.captured_) clear_buffers();
  confirm_counts();
  own_.first_step_ = own_.step_;
}

void StreamPushSum::StreamRound::clear_buffers() {
  const size_t bytes = message_bytes();
  const auto* const zeros =
      reinterpret_cast<std::byte*>(kernels().counts(bytes / sizeof(uint64_t) + 1));
  for (DelayedExchange& each : own_.exchanges_)
    for (const Block& buffer : each.received)
      kernels().copy(zeros, bytes, buffer.data() + kHeadroom);
}

void StreamPushSum::StreamRound::confirm_counts() {
  uint64_t* const none = kernels().counts(1);
  call_.call.confirm_counts(kernels(), {selected_ ? selected_ : none, none, fault_});
}

}  // namespace sparsecoll
