// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/network.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "simulated/links.hpp"

namespace sparsecoll::perf {

/// What the ranks of a communicator share; lives until the last of them is gone.
struct Fabric {
  Fabric(Turns& all, std::shared_ptr<Links> wires, std::vector<int> members)
      : turns(all), links(std::move(wires)), ranks(std::move(members)), boxes(ranks.size()) {}
  ~Fabric() {
    links->forget(*this);
    for (Mailbox& box : boxes) box.letters = {};  // before the pools that their bytes are of
  }
  Turns& turns;
  std::shared_ptr<Links> links;
  std::vector<int> ranks;  ///< in the simulation, by rank here
  std::deque<Mailbox> boxes;
  size_t goodbyes = 0;
  std::map<std::pair<uint64_t, int>, std::weak_ptr<Fabric>> parts;
};

namespace {

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(std::shared_ptr<Fabric> fabric, int rank)
      : fabric_(std::move(fabric)),
        turns_(fabric_->turns),
        rank_(rank),
        box_(fabric_->boxes[static_cast<size_t>(rank)]),
        open_(fabric_->boxes.size()) {}
  ~SimulatedTransport() override { close(); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(fabric_->boxes.size()); }
  uint64_t node() const override { return static_cast<uint64_t>(own() / model().ranks_per_node); }
  void check_thread() const override {}
  void check_queue() const override {
    fail(sparsecollInvalidUsage, "config.blocking: expected 1 in a simulation, got 0");
  }

  void send(int peer, ConstBytes bytes) override {
    open(peer, bytes.size());
    send_chunk(peer, bytes);
  }
  void open(int peer, const MessageLength& length) override {
    open_[static_cast<size_t>(peer)] = {std::make_shared<Buffer>(box(peer).pool.take(length.bytes)),
                                        0};
    turns_.pass(own(), model().overhead);
  }
  void send_chunk(int peer, ConstBytes part) override {
    Open& letter = open_[static_cast<size_t>(peer)];
    std::copy(part.begin(), part.end(), letter.bytes->data() + letter.filled);
    letter.filled += part.size();
    const bool last = letter.filled == letter.bytes->size();
    put_on_link(peer, part.size(), last ? std::move(letter.bytes) : nullptr);
  }
  void hand_over(int peer, Buffer message) override {
    turns_.pass(own(), model().overhead);
    const size_t bytes = message.size();
    put_on_link(peer, bytes, std::make_shared<Buffer>(std::move(message)));
  }
  /// The caller's bytes were copied, but who waits for them to leave waits for the link.
  size_t unsent() override {
    waits_to_leave_ = turns_.now(own()) < left_;
    return waits_to_leave_ ? 1 : 0;
  }
  size_t unsent_handed_over() override { return unsent(); }
  size_t unsent_to(int) override { return unsent(); }

  std::optional<ReceivedMessage> poll() override {
    const double now = turns_.catch_up(own(), fabric_->links->lookahead());
    fabric_->links->receive(own(), now);
    if (box_.letters.empty() || box_.letters.top().due > now) return std::nullopt;
    const Mailbox::Letter letter = box_.letters.top();
    box_.letters.pop();
    turns_.pass(own(), overhead(letter.bytes->size()));
    return ReceivedMessage{letter.peer, std::move(*letter.bytes)};
  }
  bool gone(int peer) const override {
    return fabric_->boxes[static_cast<size_t>(peer)].gone && box_.letters.empty() &&
           !fabric_->links->carries(own(), box_, peer);
  }
  /// Deadlines are of real time, which does not count here.
  void idle(Clock::time_point) override {
    if (std::exchange(goodbyes_, fabric_->goodbyes) != fabric_->goodbyes) return;  // have a look
    const double now = turns_.now(own());
    double until = fabric_->links->next(own());
    if (!box_.letters.empty()) until = std::min(until, box_.letters.top().due);
    // It may have left since this rank asked.
    if (std::exchange(waits_to_leave_, false)) until = std::min(until, left_);
    if (until > now) turns_.sleep(own(), until);
  }
  double seconds() const override { return turns_.now(own()); }
  void interrupt() noexcept override {}

  uint64_t next_address() override { return 0; }  // parts are found through the fabric
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    if (members.empty()) return nullptr;
    std::weak_ptr<Fabric>& known = fabric_->parts[{id, members.front().rank}];
    std::shared_ptr<Fabric> part = known.lock();
    if (!part) {
      std::vector<int> ranks;
      for (const RankAddress& each : members)
        ranks.push_back(fabric_->ranks[static_cast<size_t>(each.rank)]);
      known = part = std::make_shared<Fabric>(turns_, fabric_->links, std::move(ranks));
    }
    const auto self = std::ranges::find(members, rank_, &RankAddress::rank);
    return std::make_unique<SimulatedTransport>(part, static_cast<int>(self - members.begin()));
  }
  bool close_is_collective() const override { return false; }
  void close() override {
    if (std::exchange(box_.gone, true)) return;
    ++fabric_->goodbyes;
    const double known = turns_.now(own()) + model().latency;
    for (const int rank : fabric_->ranks) turns_.wake(rank, known);
  }
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = false;
    return 0;
  }
  Pool& pool() override { return box_.pool; }
  const Memory& memory() const override { return box_.memory; }

 private:
  /// A message that is still written.
  struct Open {
    std::shared_ptr<Buffer> bytes;
    size_t filled = 0;
  };

  int own() const { return fabric_->ranks[static_cast<size_t>(rank_)]; }
  Mailbox& box(int peer) { return fabric_->boxes[static_cast<size_t>(peer)]; }
  const NetworkModel& model() const { return fabric_->links->model(); }
  double overhead(size_t bytes) const {
    return model().overhead + model().byte_overhead * static_cast<double>(bytes);
  }

  void put_on_link(int peer, size_t bytes, std::shared_ptr<Buffer> letter) {
    turns_.pass(own(), model().byte_overhead * static_cast<double>(bytes));
    const double now = turns_.catch_up(own(), 0);
    const int to = fabric_->ranks[static_cast<size_t>(peer)];
    const Links::Passage passage = fabric_->links->send(
        {own(), to, now}, bytes, {fabric_.get(), &box(peer), rank_, std::move(letter)});
    left_ = std::max(left_, passage.left);
    turns_.wake(to, passage.reaches);
  }

  std::shared_ptr<Fabric> fabric_;
  Turns& turns_;
  int rank_;
  Mailbox& box_;
  std::vector<Open> open_;  ///< by peer
  double left_ = 0;         ///< when all that was sent has left
  bool waits_to_leave_ = false;
  size_t goodbyes_ = 0;  ///< that were seen
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_simulated_transports(Turns& turns, int ranks,
                                                                  const NetworkModel& model) {
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank) members.push_back(rank);
  const auto fabric =
      std::make_shared<Fabric>(turns, std::make_shared<Links>(ranks, model), std::move(members));
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<SimulatedTransport>(fabric, rank));
  return transports;
}

}  // namespace sparsecoll::perf
