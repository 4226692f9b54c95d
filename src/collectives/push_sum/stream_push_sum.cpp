// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Push-sum in stream order (Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push, ICML 2019;
// compressed gossip as in compressed_gossip.cpp): the steps of push_sum.cpp where messages cannot
// wait at the receiver, over NCCL. Every rank knows who sends to it in a step, so that every step
// receives what is sent to it there, and absorbs it tau steps later. Step t:
//
//   1. The graph names out-neighbours j with parts p_ji, and in-neighbours.
//   2. Pack p_ji x, or what changed of it, for each out-neighbour, with p_ji w in front. What
//      leaves is taken off w, which lives on the device, so that the host never waits for it.
//   3. tau = 0: exchange. tau > 0: what came in step t - tau is at hand.
//   4. x := x - what was sent + what is absorbed, in the order of ranks; w likewise.
//   5. estimate = x / w.
//   6. tau > 0: exchange, beside what is queued next, but for states that are part of a graph; step
//      t + tau waits for it.
//
// Cost per step: one message for each out-neighbour, in and out: n values, or the bound of k
// entries.
//
// Guarantees: as push_sum.cpp, with the same bits in every run for every tau, and for tau = 0 those
// of the other. No host wait: a whole period of steps, of the graph's and of tau, can be captured
// into a graph of CUDA once each of them has been made.
#include <algorithm>
#include <utility>

#include "calls/stream/stream_call.hpp"
#include "collectives/push_sum/push_sum.hpp"
#include "collectives/push_sum/stream_changes.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kWeightRoom = 64;  // in front of what else a message holds, aligned for it

/// A message that came, or will.
struct Mail {
  int peer;
  double share;  ///< of its sender's x that it moves
  const std::byte* at;

  const double* weight() const { return reinterpret_cast<const double*>(at); }
  const std::byte* body() const { return at + kWeightRoom; }
};

/// What came in a step, or is under way, with memory that stays: kHeadroom each, and a message.
struct Slot {
  std::vector<Mail> mail;
  std::vector<Block> received, sent;
  std::shared_ptr<Event> exchanged;  ///< null: is in order
};

class StreamPushSum final : public PushSum {
 public:
  StreamPushSum(const PushSumShape& shape, const Graph& graph)
      : PushSum(shape, graph),
        changes_(shape),
        slots_(static_cast<size_t>(std::max(shape.max_delay, 1))) {}

  const Block* weight_there() const override { return told_ ? &own_weight_ : nullptr; }
  GossipCodec::Copies* sent_copies() override { return shape_.k > 0 ? &changes_.sent() : nullptr; }
  GossipCodec::Copies* received_copies() override {
    return shape_.k > 0 ? &changes_.received() : nullptr;
  }
  bool in_graph() const override { return in_graph_; }
  /// Graphs absorb whatever is in the slots, and of compressed gossip nothing is no message: with
  /// each of them a part of the copy moves.
  bool can_drain() const override { return !in_graph_ || shape_.max_delay == 0 || shape_.k == 0; }
  void resume(uint64_t step, double weight) override;
  void look_ahead(int rank, bool captured) override;
  void step(const GossipContext& call, const Tensors& tensors) override;
  void drain(const GossipContext& call, const Tensors& tensors) override;

 private:
  /// What one step adds up.
  struct Sum {
    std::vector<double> shares;
    std::vector<double> moved;
    std::vector<double*> weights_out;
    std::vector<const double*> weights_in;
    std::vector<const void*> arrived;
    StreamChanges::Flow flow;
    uint64_t* selected = nullptr;
  };

  Slot& slot(uint64_t step) { return slots_[step % slots_.size()]; }
  double moved(const Neighbour& to) const {
    return shape_.k == 0 ? to.share : shape_.mixing * to.share;
  }
  size_t body_bytes(const Kernels& kernels) const;
  double* own_weight(const GossipContext& call);
  Transfer pack(const GossipContext& call, const Neighbour& to, const void* x, Sum& sum);
  std::byte* message_room(const GossipContext& call, size_t number);
  void take(const GossipContext& call, const Mail& mail, Sum& sum);
  void absorb(const GossipContext& call, Sum& sum, const Tensors& tensors);
  void arrive(const GossipContext& call, Slot& slot);
  void empty_slots(const GossipContext& call);
  void exchange(const GossipContext& call, std::vector<Transfer>& transfers, Slot* slot,
                std::vector<Mail>* mail);

  StreamChanges changes_;  ///< of compressed gossip
  Block own_weight_;       ///< w
  bool told_ = false;      ///< it is there, and the host's is old
  uint64_t first_ = 0;     ///< step since the last drain
  /// Graphs find the slots as they are when they are launched, in the order of their stream:
  /// nothing is exchanged beside it any more.
  bool in_graph_ = false;
  std::vector<Slot> slots_;    ///< by step modulo tau
  std::vector<Neighbour> to_;  ///< out-neighbours of the next step
  std::vector<int> from_;      ///< its in-neighbours
};

void StreamPushSum::resume(uint64_t step, double weight) {
  step_ = first_ = step;
  weight_ = weight;
  told_ = sent_ = false;
  own_weight_ = Block();
  for (Slot& each : slots_) each.mail.clear();
}

void StreamPushSum::look_ahead(int rank, bool captured) {
  // 1.
  to_ = graph_.out_neighbours(rank, step_);
  from_ = graph_.in_neighbours(rank, step_);
  if (!captured) return;
  const auto lacks = [](const GossipCodec::Copies& copies, int peer) {
    return !copies.contains(peer);
  };
  bool new_here = !told_;
  if (shape_.max_delay > 0)
    new_here = new_here || step_ - first_ < slots_.size() ||
               slot(step_).received.size() < from_.size() || slot(step_).sent.size() < to_.size();
  for (const Neighbour& to : to_) new_here |= shape_.k > 0 && lacks(changes_.sent(), to.rank);
  for (const int peer : from_) new_here |= shape_.k > 0 && lacks(changes_.received(), peer);
  if (new_here)
    fail(sparsecollInvalidUsage,
         "stream: expected one that is not captured until a whole period of steps was made, of the "
         "graph's and of maxDelay, got one that is at step ",
         step_);
}

void StreamPushSum::step(const GossipContext& call, const Tensors& tensors) {
  Sum sum;
  sum.flow.fault = call.kernels.counts(1);
  double* const weight = own_weight(call);
  if (call.captured && !std::exchange(in_graph_, true))
    for (Slot& each : slots_) arrive(call, each);
  arrive(call, slot(step_));
  // 2.
  std::vector<Transfer> transfers;
  for (const Neighbour& to : to_) transfers.push_back(pack(call, to, tensors.x, sum));
  call.kernels.push_sum_give(weight, sum.moved, sum.weights_out);
  sent_ = graph_.ranks() > 1;
  // 3.
  const bool at_once = shape_.max_delay == 0;
  std::vector<Mail> mail;
  if (at_once)
    exchange(call, transfers, nullptr, &mail);
  else
    mail = std::exchange(slot(step_).mail, {});
  // 4. and 5.
  for (const Mail& each : mail) take(call, each, sum);
  absorb(call, sum, tensors);
  // 6.
  if (!at_once) exchange(call, transfers, &slot(step_), &slot(step_).mail);
  uint64_t* const result = call.kernels.counts(1);
  call.call->settle(call.kernels, {sum.selected ? sum.selected : result, result, sum.flow.fault});
  ++step_;
}

void StreamPushSum::drain(const GossipContext& call, const Tensors& tensors) {
  Sum sum;
  sum.flow.fault = call.kernels.counts(1);
  own_weight(call);
  const uint64_t delay = std::min(static_cast<uint64_t>(shape_.max_delay), step_);
  for (uint64_t at = step_ - delay; at < step_; ++at) {
    arrive(call, slot(at));
    for (const Mail& each : slot(at).mail) take(call, each, sum);
    // Launches of a graph fill it again, of which the host does not hear.
    if (!in_graph_) slot(at).mail.clear();
  }
  absorb(call, sum, tensors);
  if (in_graph_) empty_slots(call);
  uint64_t* const nothing = call.kernels.counts(1);
  call.call->settle(call.kernels, {nothing, nothing, sum.flow.fault});
  sent_ = false;
  first_ = step_;
}

/// Graphs, and later steps, absorb what is in the slots: nothing, until they are filled again.
void StreamPushSum::empty_slots(const GossipContext& call) {
  const size_t bytes = kWeightRoom + body_bytes(call.kernels);
  const auto* const zeros =
      reinterpret_cast<std::byte*>(call.kernels.counts(bytes / sizeof(uint64_t) + 1));
  for (Slot& each : slots_)
    for (const Block& block : each.received)
      call.kernels.copy(zeros, bytes, block.data() + kHeadroom);
}

double* StreamPushSum::own_weight(const GossipContext& call) {
  if (!told_) {
    if (!own_weight_.data()) own_weight_ = Block(call.memory, sizeof(double));
    call.kernels.copy(call.kernels.upload(std::as_bytes(std::span(&weight_, 1))), sizeof weight_,
                      own_weight_.data());
    call.kernels.read(call.kernels.counts(1));  // weight_ is the host's to change again
    told_ = true;
  }
  return reinterpret_cast<double*>(own_weight_.data());
}

size_t StreamPushSum::body_bytes(const Kernels& kernels) const {
  return shape_.k > 0 ? changes_.bytes(kernels) : shape_.count * size_of(shape_.type);
}

Transfer StreamPushSum::pack(const GossipContext& call, const Neighbour& to, const void* x,
                             Sum& sum) {
  const Stopwatch watch(call.stats, Phase::pack);
  const size_t bytes = kWeightRoom + body_bytes(call.kernels);
  std::byte* const data = message_room(call, sum.moved.size()) + kHeadroom;
  std::byte* const body = data + kWeightRoom;
  if (shape_.k == 0) {
    call.kernels.push_sum_share(x, shape_.count, to.share, body);
    sum.shares.push_back(to.share);
  } else {
    sum.selected = changes_.pack(call, {to.rank, moved(to)}, x, sum.flow, body);
  }
  sum.moved.push_back(moved(to));
  sum.weights_out.push_back(reinterpret_cast<double*>(data));
  return {to.rank, {data, bytes, nullptr, bytes}, 0, {}};
}

/// For a message to the neighbour of that number; where it waits it outlives the call.
std::byte* StreamPushSum::message_room(const GossipContext& call, size_t number) {
  const size_t bytes = kHeadroom + kWeightRoom + body_bytes(call.kernels);
  if (shape_.max_delay == 0) return call.kernels.bytes(bytes);
  std::vector<Block>& sent = slot(step_).sent;
  if (sent.size() == number) sent.emplace_back(call.memory, bytes);
  return sent[number].data();
}

void StreamPushSum::take(const GossipContext& call, const Mail& mail, Sum& sum) {
  sum.weights_in.push_back(mail.weight());
  if (shape_.k == 0)
    sum.arrived.push_back(mail.body());
  else
    changes_.take(call, {mail.peer, mail.share}, mail.body(), sum.flow);
}

void StreamPushSum::absorb(const GossipContext& call, Sum& sum, const Tensors& tensors) {
  const Stopwatch watch(call.stats, Phase::reduce);
  auto* const weight = reinterpret_cast<double*>(own_weight_.data());
  call.kernels.push_sum_take(weight, sum.weights_in);
  call.kernels.push_sum_absorb({sum.shares, sum.arrived, sum.flow.net, 0, weight}, shape_.count,
                               tensors.x, tensors.estimate);
}

/// The exchange of that step is over for whatever is queued next.
void StreamPushSum::arrive(const GossipContext& call, Slot& slot) {
  if (slot.exchanged) call.call->wait_for(*slot.exchanged);
  slot.exchanged.reset();
}

/// Sends, and receives what is sent to this rank in this step: into a slot, or for this call only.
void StreamPushSum::exchange(const GossipContext& call, std::vector<Transfer>& transfers,
                             Slot* slot, std::vector<Mail>* mail) {
  const size_t bytes = kWeightRoom + body_bytes(call.kernels);
  const size_t sent = transfers.size();
  for (size_t i = 0; i < from_.size(); ++i) {
    transfers.push_back({from_[i], {}, bytes, {}});
    if (!slot) continue;
    if (slot->received.size() == i) slot->received.emplace_back(call.memory, kHeadroom + bytes);
    transfers.back().into = slot->received[i].data();
  }
  if (slot && !in_graph_)
    slot->exchanged = call.call->exchange_concurrently(transfers);
  else
    call.call->exchange(transfers);
  for (size_t i = 0; i < from_.size(); ++i) {
    double share = 0;
    for (const Neighbour& to : graph_.out_neighbours(from_[i], step_))
      if (to.rank == call.call->rank()) share = moved(to);
    mail->push_back({from_[i], share, transfers[sent + i].in.data()});
  }
}

}  // namespace

std::unique_ptr<PushSum> make_stream_push_sum(const PushSumShape& shape, const Graph& graph) {
  return std::make_unique<StreamPushSum>(shape, graph);
}

}  // namespace sparsecoll
