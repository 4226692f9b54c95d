// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/framed_group.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The header in front of each verb's part of a shared message. Parts are padded to 8 bytes.
struct PartHeader {
  uint32_t member;  ///< index of the verb
  uint32_t marked;  ///< 1: the verb is marked (AgreedCall::mark)
  uint64_t bytes;
};

}  // namespace

class FramedGroup::FramedMember final : public MemberCall {
 public:
  FramedMember(FramedCall& call, FiberStacks& stacks, const GroupTask& task)
      : MemberCall(call, stacks, task), received_(static_cast<size_t>(call.size())) {}

  void set_kernels(Kernels& kernels) override { kernels_ = &kernels; }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override {
    // An empty exchange must not part this verb from others that make none at this point.
    if (transfers.empty()) return;
    sent_ = false;
    MemberCall::exchange_each(transfers, on_message);
  }

  /// Returns whether the verb has come to an exchange that was not sent yet.
  bool wants_to_send() const { return state() == State::exchanging && !sent_; }
  void set_sent() { sent_ = true; }
  /// Returns the bytes of the message to send.
  size_t used(const Transfer& transfer) const {
    return transfer.out.used ? kernels_->read(transfer.out.used) : transfer.out.bound;
  }
  void wait_packed(const std::byte* end) const {
    if (kernels_) kernels_->wait_packed(end);
  }
  void add_received(int peer, ConstBytes part) {
    received_[static_cast<size_t>(peer)].push_back(part);
  }
  /// Returns whether all messages of the exchange have arrived.
  bool has_all() const {
    return std::ranges::all_of(transfers(), [this](const Transfer& transfer) {
      return transfer.in_bound == 0 || !received_[static_cast<size_t>(transfer.peer)].empty();
    });
  }
  bool waits_for(int peer) const {
    return state() == State::exchanging && received_[static_cast<size_t>(peer)].empty() &&
           std::ranges::any_of(transfers(), [peer](const Transfer& transfer) {
             return transfer.peer == peer && transfer.in_bound > 0;
           });
  }
  /// Puts the received messages into the transfers.
  void take_all() {
    for (Transfer& transfer : transfers()) {
      if (transfer.in_bound == 0) continue;
      auto& parts = received_[static_cast<size_t>(transfer.peer)];
      transfer.in = parts.front();
      parts.pop_front();
      check_size(transfer);
    }
  }

 private:
  Kernels* kernels_ = nullptr;
  bool sent_ = false;
  std::vector<std::deque<ConstBytes>> received_;  ///< by peer
};

FramedGroup::FramedGroup(FramedCall& call, Arena& arena, FiberStacks& stacks,
                         std::span<const GroupTask> tasks)
    : call_(call), arena_(arena), members_(call, stacks, tasks) {}
FramedGroup::~FramedGroup() = default;

void FramedGroup::run() {
  members_.run([this] {
    send();
    while (!deliver()) wait();
  });
}

void FramedGroup::send() {
  const Stopwatch watch(call_.stats(), Phase::exchange);
  const auto each_part = [this](int peer, auto visit) {
    for (size_t v = 0; v < members_.size(); ++v)
      if (members_[v].wants_to_send())
        for (const Transfer& transfer : members_[v].transfers())
          if (transfer.peer == peer && transfer.out.data) visit(v, transfer);
  };
  for (int i = 1; i < call_.size(); ++i) {
    const int peer = (call_.rank() + i) % call_.size();
    size_t total = 0;
    each_part(peer, [&](size_t v, const Transfer& transfer) {
      total += sizeof(PartHeader) + align_up(members_[v].used(transfer), 8);
    });
    if (total == 0) continue;
    call_.check_deadline();
    std::byte* const message = arena_.take<std::byte>(kHeadroom + total) + kHeadroom;
    std::byte* at = message;
    each_part(peer, [&](size_t v, const Transfer& transfer) {
      const PartHeader header{static_cast<uint32_t>(v), members_[v].marked(),
                              members_[v].used(transfer)};
      std::memcpy(at, &header, sizeof header);
      at += sizeof header;
      {
        const Stopwatch packs(call_.stats(), Phase::pack);
        members_[v].wait_packed(transfer.out.data + header.bytes);
      }
      if (header.bytes > 0) std::memcpy(at, transfer.out.data, header.bytes);
      const size_t padded = align_up(header.bytes, 8);
      std::memset(at + header.bytes, 0, padded - header.bytes);
      at += padded;
    });
    call_.send(peer, {message, total, nullptr});
  }
  for (FramedMember& member : members_)
    if (member.wants_to_send()) member.set_sent();
}

bool FramedGroup::deliver() {
  bool any = false;
  for (FramedMember& member : members_) {
    if (member.state() != MemberCall::State::exchanging || !member.has_all()) continue;
    call_.check_deadline();
    member.take_all();
    member.resume();
    any = true;
  }
  return any;
}

void FramedGroup::wait() {
  std::vector<int> peers;
  for (int peer = 0; peer < call_.size(); ++peer)
    if (std::any_of(members_.begin(), members_.end(),
                    [peer](FramedMember& member) { return member.waits_for(peer); }))
      peers.push_back(peer);
  for (const auto& [peer, message] : call_.receive_some(peers)) distribute(peer, message);
}

void FramedGroup::distribute(int peer, ConstBytes message) {
  while (!message.empty()) {
    PartHeader header;
    const auto wrong = [&](const char* what) {
      fail(sparsecollRemoteError, "rank ", peer, " sent a malformed group message: ", what);
    };
    if (message.size() < sizeof header) wrong("a part without a header");
    std::memcpy(&header, message.data(), sizeof header);
    message = message.subspan(sizeof header);
    if (header.member >= members_.size()) wrong("a part of a call that is not in the group");
    if (header.bytes > message.size() || align_up(header.bytes, 8) > message.size())
      wrong("a part that is longer than the message");
    if (header.marked > 1) wrong("a mark that is neither 0 nor 1");
    if (header.marked == 1) members_[header.member].mark();
    members_[header.member].add_received(peer, message.first(header.bytes));
    message = message.subspan(align_up(header.bytes, 8));
  }
}

}  // namespace sparsecoll
