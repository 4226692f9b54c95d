// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/group_call.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// In front of each member's part of a shared message; parts are padded to 8 bytes.
struct PartHeader {
  uint64_t member;
  uint64_t bytes;
};

/// Thrown into the members that are left when one has failed.
struct GivenUp {};

}  // namespace

/// One member: the call that it sees, and the fiber that it runs on.
class GroupCall::Voice final : public AgreedCall {
 public:
  enum class State { fresh, exchanging, confirming, ended };

  Voice(FramedCall& call, const GroupMember& member)
      : call_(call),
        after_(member.after),
        inbox_(static_cast<size_t>(call.size())),
        fiber_([this, run = member.run] { run(*this); }) {
    stats_.timeline = call.stats().timeline;
  }

  // --- what the member sees
  int rank() const override { return call_.rank(); }
  int size() const override { return call_.size(); }
  void read_with(Kernels& kernels) override { kernels_ = &kernels; }
  Stats& stats() override { return stats_; }
  uint64_t sequence() const override { return call_.sequence(); }
  const Deadline& deadline() const override { return call_.deadline(); }
  void agree() override { confirm(); }  // the group does
  void exchange_each(std::span<Leg> legs, FunctionRef<void(size_t leg)> on_message) override {
    legs_ = legs;
    hand_back(State::exchanging);
    tell_all(legs, on_message);
  }
  void confirm() override { hand_back(State::confirming); }
  void learn_of(std::span<const int> ranks) override { call_.learn_of(ranks); }

  // --- what the group sees
  State state() const { return state_; }
  int after() const { return after_; }
  std::span<Leg> legs() const { return legs_; }
  bool wants_to_send() const { return state_ == State::exchanging && !sent_; }
  void has_sent() { sent_ = true; }
  size_t used(const Leg& leg) const {
    return leg.out.used ? kernels_->read(leg.out.used) : leg.out.bound;
  }
  void wait_packed(const std::byte* end) const {
    if (kernels_) kernels_->wait_packed(end);
  }
  void go_on() {
    sent_ = false;
    legs_ = {};
    fiber_.resume();
    if (fiber_.ended()) state_ = State::ended;
  }
  void put(int peer, ConstBytes part) { inbox_[static_cast<size_t>(peer)].push_back(part); }
  bool has_all() const {
    return std::all_of(legs_.begin(), legs_.end(), [this](const Leg& leg) {
      return leg.in_bound == 0 || !inbox_[static_cast<size_t>(leg.peer)].empty();
    });
  }
  bool waits_for(int peer) const {
    return state_ == State::exchanging && inbox_[static_cast<size_t>(peer)].empty() &&
           std::any_of(legs_.begin(), legs_.end(),
                       [peer](const Leg& leg) { return leg.peer == peer && leg.in_bound > 0; });
  }
  void take_all() {
    for (Leg& leg : legs_) {
      if (leg.in_bound == 0) continue;
      auto& parts = inbox_[static_cast<size_t>(leg.peer)];
      leg.in = parts.front();
      parts.pop_front();
      check_size(leg);
    }
  }
  void give_up() noexcept {
    if (!fiber_.started() || fiber_.ended()) return;
    given_up_ = true;
    try {
      fiber_.resume();
    } catch (...) {
      // The first error is the one to tell of.
    }
  }

 private:
  void hand_back(State state) {
    state_ = state;
    fiber_.yield();
    if (given_up_) throw GivenUp{};
  }

  FramedCall& call_;
  Kernels* kernels_ = nullptr;
  Stats stats_;
  State state_ = State::fresh;
  int after_;
  std::span<Leg> legs_;
  bool sent_ = false;
  bool given_up_ = false;
  std::vector<std::deque<ConstBytes>> inbox_;  ///< by peer
  Fiber fiber_;
};

GroupCall::GroupCall(FramedCall& call, Arena& arena) : call_(call), arena_(arena) {}
GroupCall::~GroupCall() = default;

void GroupCall::run(std::span<const GroupMember> members) {
  for (const GroupMember& member : members) voices_.emplace_back(call_, member);
  try {
    for (go_on(); !all_confirm(); go_on()) {
      send();
      while (!deliver()) wait();
    }
    call_.confirm();
  } catch (...) {
    give_up();
    throw;
  }
  finish();
}

/// Starts those that may start.
void GroupCall::go_on() {
  for (Voice& voice : voices_) {
    const bool free = voice.after() < 0 || voices_[static_cast<size_t>(voice.after())].state() ==
                                               Voice::State::confirming;
    if (voice.state() == Voice::State::fresh && free) voice.go_on();
  }
}

bool GroupCall::all_confirm() const {
  return std::all_of(voices_.begin(), voices_.end(),
                     [](const Voice& voice) { return voice.state() == Voice::State::confirming; });
}

void GroupCall::send() {
  const Stopwatch watch(call_.stats(), Phase::exchange);
  const auto each_part = [this](int peer, auto visit) {
    for (size_t v = 0; v < voices_.size(); ++v)
      if (voices_[v].wants_to_send())
        for (const Leg& leg : voices_[v].legs())
          if (leg.peer == peer && leg.out.data) visit(v, leg);
  };
  for (int i = 1; i < call_.size(); ++i) {
    const int peer = (call_.rank() + i) % call_.size();
    size_t total = 0;
    each_part(peer, [&](size_t v, const Leg& leg) {
      total += sizeof(PartHeader) + align_up(voices_[v].used(leg), 8);
    });
    if (total == 0) continue;
    std::byte* room = arena_.take<std::byte>(kHeadroom + total) + kHeadroom;
    std::byte* at = room;
    each_part(peer, [&](size_t v, const Leg& leg) {
      const PartHeader header{v, voices_[v].used(leg)};
      std::memcpy(at, &header, sizeof header);
      at += sizeof header;
      {
        const Stopwatch packs(call_.stats(), Phase::pack);
        voices_[v].wait_packed(leg.out.data + header.bytes);
      }
      if (header.bytes > 0) std::memcpy(at, leg.out.data, header.bytes);
      const size_t padded = align_up(header.bytes, 8);
      std::memset(at + header.bytes, 0, padded - header.bytes);
      at += padded;
    });
    call_.post(peer, {room, total, nullptr});
  }
  for (Voice& voice : voices_)
    if (voice.wants_to_send()) voice.has_sent();
}

bool GroupCall::deliver() {
  bool any = false;
  for (Voice& voice : voices_) {
    if (voice.state() != Voice::State::exchanging || !voice.has_all()) continue;
    voice.take_all();
    voice.go_on();
    any = true;
  }
  return any;
}

void GroupCall::wait() {
  std::vector<int> peers;
  for (int peer = 0; peer < call_.size(); ++peer)
    if (std::any_of(voices_.begin(), voices_.end(),
                    [peer](const Voice& voice) { return voice.waits_for(peer); }))
      peers.push_back(peer);
  for (const auto& [peer, message] : call_.receive_some(peers)) sort(peer, message);
}

void GroupCall::sort(int peer, ConstBytes message) {
  while (!message.empty()) {
    PartHeader header;
    const auto wrong = [&](const char* what) {
      fail(sparsecollRemoteError, "rank ", peer, " sent a malformed group message: ", what);
    };
    if (message.size() < sizeof header) wrong("a part without a header");
    std::memcpy(&header, message.data(), sizeof header);
    message = message.subspan(sizeof header);
    if (header.member >= voices_.size()) wrong("a part of a call that is not in the group");
    if (header.bytes > message.size() || align_up(header.bytes, 8) > message.size())
      wrong("a part that is longer than the message");
    voices_[header.member].put(peer, message.first(header.bytes));
    message = message.subspan(align_up(header.bytes, 8));
  }
}

void GroupCall::finish() {
  std::optional<Error> truncated;  // what is worse is told first
  std::exception_ptr worse;
  for (Voice& voice : voices_) {
    try {
      voice.go_on();
    } catch (const Error& error) {
      if (error.code() == sparsecollTruncated) {
        if (!truncated) truncated = error;
      } else if (!worse) {
        worse = std::current_exception();
      }
    } catch (...) {
      if (!worse) worse = std::current_exception();
    }
    call_.stats().add(voice.stats());
  }
  if (worse) std::rethrow_exception(worse);
  if (truncated) throw Error(*truncated);
}

void GroupCall::give_up() noexcept {
  for (Voice& voice : voices_) voice.give_up();
}

}  // namespace sparsecoll
