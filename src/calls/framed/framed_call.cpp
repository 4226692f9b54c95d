// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/framed_call.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sparsecoll {

constexpr size_t kSpareFrames = 16;
constexpr size_t kLargeFrame = size_t{1} << 20;  // of which there are few, and no spare ones

void check_size(const Transfer& transfer) {
  if (transfer.in.size() > transfer.in_bound)
    fail(sparsecollRemoteError, "rank ", transfer.peer, " sent ", transfer.in.size(),
         " bytes where at most ", transfer.in_bound, " were expected");
}

FramedCall::FramedCall(Channel& channel, const Parameters& terms, Arena& arena, Stats& stats)
    : channel_(channel),
      terms_(terms),
      hash_(terms.descriptor.hash()),
      arena_(arena),
      stats_(stats),
      covered_(static_cast<size_t>(channel.size())) {
  covered_[static_cast<size_t>(rank())] = true;
}

FramedCall::~FramedCall() {
  try {
    leave_room(&Frame::buffer);
    leave_room(&Frame::hidden);
  } catch (const std::exception&) {
    // The pool grows when it has to, then.
  }
}

/// As many more frames of these sizes may come in while a call is under way: those of a peer that
/// is one call ahead. A later call may also need a few rounds more to find its threshold.
void FramedCall::leave_room(Buffer Frame::*part) {
  const auto size_of_block = [part](const Frame& frame) { return (frame.*part).capacity(); };
  std::ranges::sort(kept_, {}, size_of_block);
  auto each = std::ranges::upper_bound(kept_, size_t{0}, {}, size_of_block);
  while (each != kept_.end()) {
    const auto next =
        std::ranges::upper_bound(each, kept_.end(), size_of_block(*each), {}, size_of_block);
    // A device's memory is the caller's, too, who may need what no message has needed yet.
    if (part == &Frame::hidden && size_of_block(*each) >= kLargeFrame) return;
    const auto used = static_cast<size_t>(next - each);
    ((*each).*part).reserve(2 * used, size_of_block(*each) < kLargeFrame ? kSpareFrames : 0);
    each = next;
  }
}

void FramedCall::read_with(Kernels& kernels) {
  kernels_ = &kernels;
  if (channel_.transport().takes_device_memory()) kernels.hide_large();
}

void FramedCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  if (transfers.empty()) return;
  const Stopwatch watch(stats_, Phase::exchange);
  if (rotates(transfers)) {
    send_paced(transfers);
  } else {
    for (size_t i = 0; i < transfers.size(); ++i)
      if (transfers[i].out.data) post_transfer(transfers, i);
  }
  receive(transfers, on_message);
}

void FramedCall::refuse_gossip(int peer, const Frame& frame) const {
  if (frame.kind() == FrameKind::gossip && frame.header.sequence == terms_.sequence)
    fail(sparsecollRemoteError, "rank ", peer, " called pushSumStep, this rank ",
         verb_name(terms_.descriptor.verb));
}

void FramedCall::examine(int peer, const Frame& frame) {
  refuse_gossip(peer, frame);
  if (frame.kind() == FrameKind::gossip) return;        // of any call before or after
  if (frame.header.sequence > terms_.sequence) return;  // of a peer that is ahead
  if (frame.header.sequence < terms_.sequence)
    fail(sparsecollRemoteError, "rank ", peer, " sent a message of call ", frame.header.sequence,
         " during call ", terms_.sequence);
  if (frame.kind() == FrameKind::abandon || frame.header.descriptor != hash_) throw Abandoned{};
  cover(frame.header);
  if (kernels_ && !probes_ && !frame.is_hidden()) kernels_->prefetch(frame.payload());
}

void FramedCall::wait_for(std::vector<int> peers) {
  const auto look = [this](int peer, const Frame& frame) { examine(peer, frame); };
  for (int peer = 0; peer < size(); ++peer) {
    for (const Frame& frame : channel_.gossip(peer)) refuse_gossip(peer, frame);
    for (const Frame& frame : channel_.queue(peer)) look(peer, frame);
  }
  const size_t awaited = peers.size();
  for (;;) {
    // Who was gone before the last look at the mail will not be heard of again.
    const std::vector<int> gone = channel_.gone(peers), left = channel_.left();
    try {
      channel_.pump(look);
    } catch (const PeerTimeout&) {
      tell_timeout(peers);
    }
    std::erase_if(peers, [this](int peer) { return has_come(peer); });
    if (peers.empty() || peers.size() < awaited) return;
    channel_.give_up_on(gone, peers);
    channel_.give_up_on(left, left);
    channel_.pause(terms_.deadline,
                   [&] { return text("nothing was heard from ", name_ranks(unheard(peers))); });
  }
}

/// In a handler of a peer's timeout: who is missing there is missing here too, unless this rank
/// came late itself.
void FramedCall::tell_timeout(std::span<const int> awaited) const {
  if (!terms_.deadline.mostly_passed()) throw;
  fail(sparsecollTimeout, "deadline passed, nothing was heard from ", name_ranks(unheard(awaited)));
}

std::optional<double> FramedCall::probe(const Probe& probe) {
  const Stopwatch watch(stats_, Phase::exchange);
  std::byte* const room = arena_.take<std::byte>(kHeadroom + probe.bytes) + kHeadroom;
  std::fill_n(room, probe.bytes, std::byte{0});
  Transfer transfer;
  transfer.peer = probe.from;
  transfer.in_bound = probe.bytes;
  probes_ = true;
  const double start = channel_.transport().seconds();
  post(probe.to, {room, probe.bytes, nullptr});
  receive({&transfer, 1}, [](size_t) {});
  const double spent = channel_.transport().seconds() - start;
  probes_ = false;
  kept_.pop_back();  // the next one takes its place
  return spent;
}

ConstBytes FramedCall::take(int peer, MessageMemory message_memory) {
  Frame& frame = kept_.emplace_back(std::move(channel_.queue(peer).front()));
  channel_.queue(peer).pop_front();
  stats_.bytes_received += frame.size();
  const bool by_place = message_memory == MessageMemory::backend && kernels_;
  if (frame.is_hidden() && !(by_place && kernels_->take_hidden(frame.payload())))
    channel_.uncover(frame);
  return frame.payload();
}

void FramedCall::receive(std::span<Transfer> transfers,
                         FunctionRef<void(size_t transfer)> on_message) {
  std::vector<size_t> missing;
  for (size_t i = 0; i < transfers.size(); ++i)
    if (transfers[i].in_bound > 0) missing.push_back(i);
  do {  // who only sends looks once, too, at what became of others
    std::vector<int> peers;
    for (const size_t i : missing) peers.push_back(transfers[i].peer);
    wait_for(std::move(peers));
    size_t still = 0;
    for (const size_t i : missing) {
      Transfer& transfer = transfers[i];
      if (!has_come(transfer.peer)) {
        missing[still++] = i;
        continue;
      }
      transfer.in = take(transfer.peer, transfer.message_memory);
      check_size(transfer);
      on_message(i);
    }
    missing.resize(still);
  } while (!missing.empty());
}

std::vector<FramedCall::Received> FramedCall::receive_some(std::span<const int> peers) {
  const Stopwatch watch(stats_, Phase::exchange);
  wait_for({peers.begin(), peers.end()});
  std::vector<Received> messages;
  for (const int peer : peers)
    while (!channel_.queue(peer).empty() &&
           channel_.queue(peer).front().header.sequence == terms_.sequence)
      messages.push_back({peer, take(peer, MessageMemory::host)});
  return messages;
}

bool FramedCall::has_come(int peer) const {
  const auto& queue = channel_.queue(peer);
  if (queue.empty()) return false;
  const uint64_t sequence = queue.front().header.sequence;
  if (sequence != terms_.sequence)
    fail(sparsecollRemoteError, "rank ", peer, " is at call ", sequence, "; its message of call ",
         terms_.sequence, " is missing");
  return true;
}

std::vector<int> FramedCall::awaited(std::span<const Transfer> transfers) {
  std::vector<int> peers;
  for (const Transfer& transfer : transfers)
    if (transfer.in_bound > 0) peers.push_back(transfer.peer);
  return peers;
}

std::vector<int> FramedCall::unheard(std::span<const int> absent) const {
  std::vector<int> ranks;
  for (int r = 0; r < size(); ++r)
    if (!covered_[static_cast<size_t>(r)] || std::ranges::find(absent, r) != absent.end())
      ranks.push_back(r);
  return ranks;
}

std::vector<int> FramedCall::others() const {
  std::vector<int> peers;
  for (int i = 1; i < size(); ++i) peers.push_back((rank() + i) % size());
  return peers;
}

void FramedCall::cover(const FrameHeader& header) {
  for (uint32_t i = 0; i < header.covered_count; ++i)
    cover((size_t{header.covered_first} + i) % covered_.size());
}

void FramedCall::cover(size_t rank) {
  if (!covered_[rank]) ++covered_count_;
  covered_[rank] = true;
}

void FramedCall::learn_of(std::span<const int> ranks) {
  for (const int rank : ranks) cover(static_cast<size_t>(rank));
}

void FramedCall::agree() {
  for (int distance = 1; distance < size(); distance *= 2) {
    std::byte* room = arena_.take<std::byte>(kHeadroom);
    Transfer transfers[2];
    transfers[0].peer = (rank() + distance) % size();
    transfers[0].out = {room + kHeadroom, 0, nullptr};
    transfers[1].peer = (rank() - distance + size()) % size();
    transfers[1].in_bound = kUnknownSize;
    exchange(transfers);
  }
  confirm();
}

void FramedCall::confirm() {
  if (covered_count_ != size())
    fail(sparsecollInternalError, "only ", covered_count_, " of ", size(), " ranks were heard of");
  const Stopwatch watch(stats_, Phase::exchange);
  channel_.flush(terms_.deadline);
}

}  // namespace sparsecoll
