// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/group_call.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// In front of each member's part of a shared message; parts are padded to 8 bytes.
struct PartHeader {
  uint64_t member;
  uint64_t bytes;
};

}  // namespace

class GroupCall::Member final : public Voice {
 public:
  Member(FramedCall& call, FiberStacks& stacks, const GroupMember& member)
      : Voice(call, stacks, member), inbox_(static_cast<size_t>(call.size())) {}

  void read_with(Kernels& kernels) override { kernels_ = &kernels; }
  void exchange_each(std::span<Leg> legs, FunctionRef<void(size_t leg)> on_message) override {
    sent_ = false;
    Voice::exchange_each(legs, on_message);
  }

  bool wants_to_send() const { return state() == State::exchanging && !sent_; }
  void has_sent() { sent_ = true; }
  size_t used(const Leg& leg) const {
    return leg.out.used ? kernels_->read(leg.out.used) : leg.out.bound;
  }
  void wait_packed(const std::byte* end) const {
    if (kernels_) kernels_->wait_packed(end);
  }
  void put(int peer, ConstBytes part) { inbox_[static_cast<size_t>(peer)].push_back(part); }
  bool has_all() const {
    return std::ranges::all_of(legs(), [this](const Leg& leg) {
      return leg.in_bound == 0 || !inbox_[static_cast<size_t>(leg.peer)].empty();
    });
  }
  bool waits_for(int peer) const {
    return state() == State::exchanging && inbox_[static_cast<size_t>(peer)].empty() &&
           std::ranges::any_of(
               legs(), [peer](const Leg& leg) { return leg.peer == peer && leg.in_bound > 0; });
  }
  void take_all() {
    for (Leg& leg : legs()) {
      if (leg.in_bound == 0) continue;
      auto& parts = inbox_[static_cast<size_t>(leg.peer)];
      leg.in = parts.front();
      parts.pop_front();
      check_size(leg);
    }
  }

 private:
  Kernels* kernels_ = nullptr;
  bool sent_ = false;
  std::vector<std::deque<ConstBytes>> inbox_;  ///< by peer
};

GroupCall::GroupCall(FramedCall& call, Arena& arena, FiberStacks& stacks,
                     std::span<const GroupMember> members)
    : call_(call), arena_(arena), voices_(call, stacks, members) {}
GroupCall::~GroupCall() = default;

void GroupCall::run() {
  voices_.run([this] {
    send();
    while (!deliver()) wait();
  });
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
  for (Member& voice : voices_)
    if (voice.wants_to_send()) voice.has_sent();
}

bool GroupCall::deliver() {
  bool any = false;
  for (Member& voice : voices_) {
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
                    [peer](Member& voice) { return voice.waits_for(peer); }))
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

}  // namespace sparsecoll
