// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/local.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// What has come in for one rank.
struct Mailbox {
  struct Letter {
    Arrived arrived;
    Clock::time_point due;
  };
  Memory memory;
  Pool pool{memory};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Letter> letters;
  std::atomic<size_t> events{0};  ///< rises with every letter and goodbye
  bool interrupted = false;
};

/// What the ranks share; lives until the last of them is gone.
struct Fabric {
  Fabric(int ranks, FatePlan fate)
      : boxes(ranks),
        gone(ranks),
        calls(ranks),
        joined(ranks),
        plan(std::move(fate)),
        neighbours(ranks) {
    spins = static_cast<unsigned>(ranks) <= std::thread::hardware_concurrency();
  }
  /// A letter that was handed over is of its sender's pool: all of them go before the first pool.
  ~Fabric() {
    for (Mailbox& box : boxes) box.letters.clear();
  }
  void tell_all(int but) {
    for (size_t r = 0; r < boxes.size(); ++r)
      if (static_cast<int>(r) != but) touch(boxes[r]);
  }
  static void touch(Mailbox& box) {
    {
      const std::lock_guard lock(box.mutex);
      ++box.events;
    }
    box.changed.notify_all();
  }
  /// The fabric of one part of a split: made by the first of its members to ask, forgotten when
  /// the last has.
  static std::shared_ptr<Fabric> part(const std::shared_ptr<Fabric>& whole,
                                      std::span<const RankAddress> members, uint64_t id) {
    const std::lock_guard lock(whole->parts_mutex);
    const std::pair name{id, members.front().rank};
    Part& part = whole->parts[name];
    if (!part.fabric) {
      const auto fresh = std::make_shared<Fabric>(static_cast<int>(members.size()), FatePlan{});
      fresh->whole = whole;
      fresh->neighbours = whole->neighbours;
      for (const RankAddress& each : members) fresh->ranks_in_whole.push_back(each.rank);
      part.fabric = fresh;  // complete, or not there: the next member may try again
    }
    std::shared_ptr<Fabric> fabric = part.fabric;
    if (++part.taken == members.size()) whole->parts.erase(name);
    return fabric;
  }
  /// Not here yet, and never to be: it has left the whole of which this is a part.
  bool never_comes(int rank) const {
    if (joined[rank] || ranks_in_whole.empty()) return false;
    const std::shared_ptr<Fabric> from = whole.lock();
    const bool left = !from || from->gone[ranks_in_whole[static_cast<size_t>(rank)]];
    return left && !joined[rank];  // in this order: it may have joined before it left
  }

  struct Part {
    std::shared_ptr<Fabric> fabric;
    size_t taken = 0;
  };
  std::vector<Mailbox> boxes;
  std::vector<std::atomic<bool>> gone;
  std::vector<std::atomic<uint64_t>> calls;  ///< the number after that of the last one made
  std::vector<std::atomic<bool>> joined;
  FatePlan plan;
  int neighbours;               ///< ranks of the process, where parts begin
  bool spins;                   ///< every rank has a core of its own
  std::weak_ptr<Fabric> whole;  ///< of a part: what it was split from
  std::vector<int> ranks_in_whole;
  std::mutex parts_mutex;
  std::map<std::pair<uint64_t, int>, Part> parts;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Fabric> fabric, int rank)
      : fabric_(std::move(fabric)),
        rank_(rank),
        box_(fabric_->boxes[rank]),
        open_(fabric_->boxes.size()) {
    fabric_->joined[rank] = true;
  }
  ~LocalTransport() override { leave(); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(fabric_->boxes.size()); }
  int neighbours() const override { return fabric_->neighbours; }
  void check_thread() const override {}
  void check_queue() const override {}

  void send(int peer, ConstBytes bytes) override {
    open(peer, bytes.size());
    send_part(peer, bytes);
  }

  void open(int peer, const Length& length) override {
    Letter& letter = open_[static_cast<size_t>(peer)];
    letter = {};
    if (fabric_->gone[peer]) return;
    letter.fate = next_fate(peer);
    letter.wanted = !killed_ && !letter.fate.drop;
    if (letter.wanted) letter.bytes = fabric_->boxes[peer].pool.take(length.bytes);
  }

  void send_part(int peer, ConstBytes part) override {
    Letter& letter = open_[static_cast<size_t>(peer)];
    if (!letter.wanted) return;
    std::copy(part.begin(), part.end(), letter.bytes.data() + letter.filled);
    letter.filled += part.size();
    if (letter.filled < letter.bytes.size()) return;
    deliver(peer, std::move(letter.bytes), letter.fate);
    letter.wanted = false;
  }

  void hand_over(int peer, Buffer message) override {
    open_[static_cast<size_t>(peer)] = {};
    if (fabric_->gone[peer]) return;
    const Fate fate = next_fate(peer);
    if (!killed_ && !fate.drop) deliver(peer, std::move(message), fate);
  }

  size_t unsent() override { return 0; }
  size_t unsent_handed_over() override { return 0; }
  size_t unsent_to(int) override { return 0; }

  std::optional<Arrived> poll() override {
    if (killed_) fail(sparsecollSystemError, "this rank was killed by the test's plan");
    const size_t events = box_.events;
    if (events == seen_ && !look_again_) return std::nullopt;
    const std::lock_guard lock(box_.mutex);
    look_again_ = false;
    const auto now = Clock::now();
    for (auto letter = box_.letters.begin(); letter != box_.letters.end(); ++letter) {
      if (letter->due > now || overtakes(letter)) {
        look_again_ = true;  // it becomes due without an event
        continue;
      }
      Arrived arrived = std::move(letter->arrived);
      box_.letters.erase(letter);
      look_again_ = true;
      return arrived;
    }
    seen_ = box_.events;
    return std::nullopt;
  }

  bool gone(int peer) const override {
    if (!fabric_->gone[peer]) return fabric_->never_comes(peer);
    if (!fabric_->plan) return true;
    const std::lock_guard lock(box_.mutex);  // what is delayed is still to come
    return std::none_of(box_.letters.begin(), box_.letters.end(),
                        [peer](const auto& letter) { return letter.arrived.peer == peer; });
  }

  void made(uint64_t call) override { fabric_->calls[rank_] = call + 1; }
  std::vector<int> left_before(uint64_t call) const override {
    std::vector<int> peers;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank_ && gone(peer) && fabric_->calls[peer] <= call) peers.push_back(peer);
    return peers;
  }

  void idle(Clock::time_point limit) override {
    if (look_again_) return std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (fabric_->spins)
      for (int i = 0; i < 2000; ++i)
        if (box_.events != seen_) return;
    std::unique_lock lock(box_.mutex);
    box_.changed.wait_until(lock, limit, [&] { return box_.events != seen_ || box_.interrupted; });
  }

  void interrupt() noexcept override {
    {
      const std::lock_guard lock(box_.mutex);
      box_.interrupted = true;
    }
    box_.changed.notify_all();
    leave();
  }

  uint64_t next_address() override { return 0; }  // parts are found through the fabric
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    if (members.empty()) return nullptr;
    const auto own = std::ranges::find(members, rank_, &RankAddress::rank);
    return std::make_unique<LocalTransport>(Fabric::part(fabric_, members, id),
                                            static_cast<int>(own - members.begin()));
  }

  bool closes_together() const override { return false; }
  void close() override { leave(); }
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = false;
    leave();
    return 0;
  }
  Pool& pool() override { return box_.pool; }
  const Memory& memory() const override { return box_.memory; }

 private:
  /// A message that is still written.
  struct Letter {
    Buffer bytes;
    size_t filled = 0;
    Fate fate;
    bool wanted = false;  ///< and so its bytes are there
  };

  Fate next_fate(int peer) {
    const Fate fate = fabric_->plan ? fabric_->plan(rank_, peer, sent_++) : Fate{};
    if (fate.kill_sender) killed_ = true;
    return fate;
  }

  void deliver(int peer, Buffer message, const Fate& fate) {
    if (fate.corrupt_byte != kAll)
      message.data()[fate.corrupt_byte % message.size()] ^= std::byte{0xff};
    Mailbox& box = fabric_->boxes[peer];
    {
      const std::lock_guard lock(box.mutex);
      box.letters.push_back({{rank_, std::move(message)}, Clock::now() + fate.delay});
      ++box.events;
    }
    box.changed.notify_one();
  }

  /// A letter must not pass an earlier one of the same sender.
  bool overtakes(std::deque<Mailbox::Letter>::iterator letter) const {
    if (!fabric_->plan) return false;
    for (auto each = box_.letters.begin(); each != letter; ++each)
      if (each->arrived.peer == letter->arrived.peer) return true;
    return false;
  }

  /// A killed rank leaves no word: its peers find out by their deadlines.
  void leave() noexcept {
    if (killed_ || fabric_->gone[rank_].exchange(true)) return;
    fabric_->tell_all(rank_);
  }

  std::shared_ptr<Fabric> fabric_;
  int rank_;
  Mailbox& box_;
  std::vector<Letter> open_;  ///< by peer
  size_t sent_ = 0;
  size_t seen_ = 0;
  bool look_again_ = false;  ///< letters may be waiting that no new event tells of
  std::atomic<bool> killed_{false};
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const FatePlan& plan) {
  auto fabric = std::make_shared<Fabric>(ranks, plan);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < ranks; ++r) transports.push_back(std::make_unique<LocalTransport>(fabric, r));
  return transports;
}

}  // namespace sparsecoll
