// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/framed_call.hpp"

#include <algorithm>

#include "calls/framed/abandon.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

// The pool keeps this many spare buffers of each size below kLargeFrame. Larger frames are few.
constexpr size_t kSpareFrames = 16;
constexpr size_t kLargeFrame = size_t{1} << 20;

/// Returns the peers from which a message must arrive.
std::vector<int> senders(std::span<const Transfer> transfers) {
  std::vector<int> peers;
  for (const Transfer& transfer : transfers)
    if (transfer.in_bound > 0) peers.push_back(transfer.peer);
  return peers;
}

}  // namespace

void check_size(const Transfer& transfer) {
  if (transfer.in.size() > transfer.in_bound)
    fail(sparsecollRemoteError, "rank ", transfer.peer, " sent ", transfer.in.size(),
         " bytes where at most ", transfer.in_bound, " were expected");
}

FramedCall::FramedCall(Channel& channel, const CallParameters& parameters,
                       const CallIdentity& identity, Arena& arena)
    : channel_(channel),
      parameters_(parameters),
      identity_(identity),
      arena_(arena),
      sender_(channel, parameters, identity.descriptor, arena),
      missing_(channel.size(), arena) {}

FramedCall::~FramedCall() {
  try {
    reserve_buffers(&Frame::buffer);
    reserve_buffers(&Frame::device_payload);
  } catch (const std::exception&) {
    // Out of memory. The pool allocates later, when it needs the buffers.
  }
}

// Reserves twice as many buffers as this call used: peers that are one call ahead may send as many
// frames. Reserves a few more for a call that needs more rounds to find its threshold.
void FramedCall::reserve_buffers(Buffer Frame::*part) {
  const auto size_of_block = [part](const Frame& frame) { return (frame.*part).capacity(); };
  std::ranges::sort(kept_, {}, size_of_block);
  auto each = std::ranges::upper_bound(kept_, size_t{0}, {}, size_of_block);
  while (each != kept_.end()) {
    const auto next =
        std::ranges::upper_bound(each, kept_.end(), size_of_block(*each), {}, size_of_block);
    // Large blocks are not reserved on a device, because the program needs its memory, too.
    if (part == &Frame::device_payload && size_of_block(*each) >= kLargeFrame) return;
    const auto used = static_cast<size_t>(next - each);
    ((*each).*part).reserve(2 * used, size_of_block(*each) < kLargeFrame ? kSpareFrames : 0);
    each = next;
  }
}

void FramedCall::set_kernels(Kernels& kernels) {
  kernels_ = &kernels;
  sender_.set_kernels(kernels);
  if (channel_.transport().takes_device_memory()) kernels.keep_large_on_device();
}

void FramedCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  if (transfers.empty()) return;
  const Stopwatch watch(stats(), Phase::exchange);
  refuse_passed(deadline(), watch.start());
  if (rotates(transfers)) {
    send_paced(transfers);
  } else {
    for (size_t i = 0; i < transfers.size(); ++i)
      if (transfers[i].out.data) send_transfer(transfers, i);
  }
  receive(transfers, on_message);
}

// Sending.

void FramedCall::send(int peer, const Packet& packet, bool again) {
  try {
    sender_.send(peer, packet, again);
  } catch (const PeerTimeout&) {
    rethrow_timeout(deadline(), [this] { return name_missing({}); });
  }
}

void FramedCall::send_transfer(std::span<const Transfer> transfers, size_t i) {
  send(transfers[i].peer, transfers[i].out, i > 0 && transfers[i].out == transfers[i - 1].out);
}

bool FramedCall::rotates(std::span<const Transfer> transfers) const {
  if (transfers.size() + 1 != static_cast<size_t>(size())) return false;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const int next = (rank() + 1 + static_cast<int>(i)) % size();
    if (transfers[i].peer != next || !transfers[i].out.data || transfers[i].in_bound == 0)
      return false;
  }
  return true;
}

// Many long messages at the same time overflow the queues of a slow link, and lost segments arrive
// late. So only a few messages are under way, and each arrival allows one more. The rank that has
// sent the fewest messages never waits: all ranks send to the next rank, then to the one behind it
// and so on, so that it has received at least as many as it has sent. All arrived messages are
// counted before a wait, because the next one may be from a rank that waits, too.
//
// A rank that shares its CPU with others gives it to them after each long message. Otherwise it
// would keep them from starting until all that may be under way is packed, while their links idle
// and its own has enough to send.
void FramedCall::send_paced(std::span<const Transfer> transfers) {
  constexpr size_t kMessages = 4, kBytes = size_t{1} << 17, kLong = size_t{1} << 15;
  std::vector<int> missing = senders(transfers);
  size_t under_way = 0;  // bytes of the sent messages from transfers[arrived] on
  size_t arrived = 0;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const auto full = [&] { return i - arrived >= kMessages && under_way >= kBytes; };
    const auto count = [&] {
      std::erase_if(missing, [this](int peer) { return has_arrived(peer); });
      for (; arrived < std::min(transfers.size() - missing.size(), i); ++arrived)
        under_way -= transfers[arrived].out.bound;
    };
    if (full()) count();
    while (full()) {
      wait_for_any(missing);
      count();
    }
    send_transfer(transfers, i);
    under_way += transfers[i].out.bound;
    if (transfers[i].out.bound >= kLong) channel_.yield_cpu();
  }
}

// Receiving.

void FramedCall::check_arrived(int peer, const Frame& frame) {
  refuse_gossip(parameters_, identity_.descriptor, peer, frame);
  if (frame.kind() == FrameKind::gossip) return;   // gossip may arrive in any call
  if (frame.header.sequence > sequence()) return;  // the peer is ahead
  if (frame.header.sequence < sequence())
    fail(sparsecollRemoteError, "rank ", peer, " sent a message of call ", frame.header.sequence,
         " during call ", sequence());
  if (frame.kind() == FrameKind::abandon || frame.header.descriptor != sender_.hash())
    throw Abandoned{};
  sender_.covered().add_from(frame.header);
  if (frame.header.marked) sender_.mark();
  if (kernels_ && !probes_ && !frame.is_on_device()) kernels_->prefetch(frame.payload());
}

void FramedCall::wait(std::span<const int> peers, FunctionRef<void(int peer)> on_frame,
                      FunctionRef<bool()> is_over) {
  if (channel_.has_gossip())
    for (int peer = 0; peer < size(); ++peer)
      for (const Frame& frame : channel_.gossip(peer))
        refuse_gossip(parameters_, identity_.descriptor, peer, frame);
  channel_.for_each_queued([this](int peer) {
    for (const Frame& frame : channel_.queue(peer)) check_arrived(peer, frame);
  });
  const auto check_and_count = [&](int peer, const Frame& frame) {
    check_arrived(peer, frame);
    on_frame(peer);
  };
  const auto clear_at_end = [&](std::vector<int>& awaited) {
    if (is_over()) awaited.clear();
  };
  channel_.wait(peers, {.deadline = deadline(),
                        .on_frame = check_and_count,
                        .update = clear_at_end,
                        .missing = [this](const auto& awaited) { return name_missing(awaited); },
                        .needs_all_ranks = true});
}

void FramedCall::wait_for_any(std::span<const int> peers) {
  const auto arrived = [this](int peer) { return has_arrived(peer); };
  wait(
      peers, [](int) {}, [&] { return std::ranges::any_of(peers, arrived); });
}

ConstBytes FramedCall::take_message(int peer, MessageMemory message_memory) {
  Frame& frame = kept_.emplace_back(std::move(channel_.queue(peer).front()));
  channel_.queue(peer).pop_front();
  stats().bytes_received += frame.size();
  const bool for_backend = message_memory == MessageMemory::backend && kernels_;
  if (frame.is_on_device() && !(for_backend && kernels_->receive_on_device(frame.payload())))
    channel_.copy_to_host(frame);
  return frame.payload();
}

void FramedCall::receive(std::span<Transfer> transfers,
                         FunctionRef<void(size_t transfer)> on_message) {
  missing_.begin(transfers);
  channel_.for_each_queued([this](int peer) { missing_.add_arrival(peer); });
  const auto add_arrival = [this](int peer) { missing_.add_arrival(peer); };
  const auto any_arrived = [this] {
    return std::ranges::any_of(missing_.arrivals(), [this](int peer) { return has_arrived(peer); });
  };
  do {  // A rank that receives nothing also checks once whether a peer has failed or abandoned.
    wait(missing_.peers(), add_arrival, any_arrived);
    for (const int peer : missing_.arrivals())
      while (missing_.contains(peer) && has_arrived(peer)) {
        const size_t i = missing_.take(peer);
        transfers[i].in = take_message(peer, transfers[i].message_memory);
        check_size(transfers[i]);
        on_message(i);
      }
    missing_.end_arrivals();
  } while (!missing_.peers().empty());
}

std::vector<FramedCall::Received> FramedCall::receive_some(std::span<const int> peers) {
  const Stopwatch watch(stats(), Phase::exchange);
  wait_for_any(peers);
  std::vector<Received> messages;
  for (const int peer : peers)
    while (!channel_.queue(peer).empty() &&
           channel_.queue(peer).front().header.sequence == sequence())
      messages.push_back({peer, take_message(peer, MessageMemory::host)});
  return messages;
}

bool FramedCall::has_arrived(int peer) const {
  FrameQueue& queue = channel_.queue(peer);
  if (queue.empty()) return false;
  const uint64_t got = queue.front().header.sequence;
  if (got != sequence())
    fail(sparsecollRemoteError, "rank ", peer, " is at call ", got, "; its message of call ",
         sequence(), " is missing");
  return true;
}

std::optional<double> FramedCall::probe(const Probe& probe) {
  const Stopwatch watch(stats(), Phase::exchange);
  std::byte* const message = arena_.take<std::byte>(kHeadroom + probe.bytes) + kHeadroom;
  std::fill_n(message, probe.bytes, std::byte{0});
  Transfer transfer;
  transfer.peer = probe.from;
  transfer.in_bound = probe.bytes;
  probes_ = true;
  const double start = channel_.transport().seconds();
  send(probe.to, {message, probe.bytes, nullptr});
  receive({&transfer, 1}, [](size_t) {});
  const double spent = channel_.transport().seconds() - start;
  probes_ = false;
  kept_.pop_back();  // The next probe uses its buffer again.
  return spent;
}

std::optional<double> FramedCall::seconds() const { return channel_.transport().seconds(); }

// Agreement.

void FramedCall::mark_covered(std::span<const int> ranks) {
  for (const int rank : ranks) sender_.covered().add(rank);
}

std::string FramedCall::name_missing(std::span<const int> absent) const {
  return text("nothing was heard from ", name_ranks(sender_.covered().missing(absent)));
}

void FramedCall::agree() {
  for (int distance = 1; distance < size(); distance *= 2) {
    std::byte* const message = arena_.take<std::byte>(kHeadroom) + kHeadroom;
    Transfer transfers[2];
    transfers[0].peer = (rank() + distance) % size();
    transfers[0].out = {message, 0, nullptr};
    transfers[1].peer = (rank() - distance + size()) % size();
    transfers[1].in_bound = kUnknownSize;
    exchange(transfers);
  }
  confirm();
}

void FramedCall::confirm() {
  if (!sender_.covered().all())
    fail(sparsecollInternalError, "only ", sender_.covered().count(), " of ", size(),
         " ranks were heard of");
  const Clock::time_point now = Clock::now();
  refuse_passed(deadline(), now);
  {
    Stopwatch watch(stats(), Phase::exchange, now);
    if (!channel_.flush(deadline())) watch.took_no_time();
  }
  if (Progress* const progress = stats().progress) progress->reach(Stage::confirmed);
}

void FramedCall::abandon(const Error* problem) {
  abandon_call(channel_, sender_, parameters_, identity_, problem);
}

}  // namespace sparsecoll
