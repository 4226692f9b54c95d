// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// How a call's messages leave: framed, piece by piece where they are long, not too many at once.
#include <algorithm>

#include "calls/framed/framed_call.hpp"

namespace sparsecoll {

/// Smaller messages are packed too fast for two looks at the clock.
constexpr size_t kTimedBytes = 4096;

static_assert(kHeadroom >= sizeof(FrameHeader), "the header goes in front of the payload");

FrameHeader FramedCall::header(FrameKind kind) const {
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(kind);
  header.sequence = terms_.sequence;
  header.descriptor = hash_;
  // The largest cyclic range of known ranks around this one; algorithms relay what they gathered,
  // which is such a range.
  const int ranks = size();
  const auto known = [&](int r) { return covered_[static_cast<size_t>((r + ranks) % ranks)]; };
  int first = rank(), count = 1;
  while (count < ranks && known(first - 1)) --first, ++count;
  while (count < ranks && known(first + count)) ++count;
  header.covered_first = static_cast<uint32_t>((first + ranks) % ranks);
  header.covered_count = static_cast<uint32_t>(count);
  return header;
}

void FramedCall::post_transfer(std::span<const Transfer> transfers, size_t i) {
  post(transfers[i].peer, transfers[i].out, i > 0 && transfers[i].out == transfers[i - 1].out);
}

void FramedCall::post(int peer, const Packet& packet, bool again) {
  const size_t bytes = packet.used ? kernels_->read(packet.used) : packet.bound;
  const auto wait = [this, bytes](const std::byte* end) {
    if (!kernels_) return;
    if (bytes < kTimedBytes) return kernels_->wait_packed(end);
    const Stopwatch watch(stats_, Phase::pack);
    kernels_->wait_packed(end);
  };
  stats_.bytes_sent += sizeof(FrameHeader) + bytes;
  ++stats_.messages_sent;
  const bool hidden = kernels_ && kernels_->hides(packet.data);
  std::byte* data = packet.data;
  if (again && !hidden) {  // each frame has a header of its own, in front of its payload
    data = arena_.take<std::byte>(kHeadroom + bytes) + kHeadroom;
    std::copy_n(packet.data, bytes, data);
  }
  std::byte* const head = hidden ? arena_.take<std::byte>(kHeadroom) : data - sizeof(FrameHeader);
  if (bytes > 0 && (hidden || channel_.is_long(bytes))) {
    uint64_t* const tail = hidden ? nullptr : arena_.take<uint64_t>(1);
    if (tail) stats_.bytes_sent += sizeof *tail;
    try {
      return channel_.send_long(peer, header(FrameKind::data), {data, bytes, head, tail, wait});
    } catch (const PeerTimeout&) {
      tell_timeout({});
    }
  }
  wait(packet.data + bytes);
  channel_.send(peer, header(FrameKind::data),
                {head + sizeof(FrameHeader), bytes, again && !hidden ? packet.data : nullptr});
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

/// Many long messages at once overrun the queues of a slow link, and what is lost there comes late.
/// So only some are under way: one more for each that has come. Since all ranks send to the next,
/// to the one behind it and so on, as many come to each as whoever has sent the fewest has sent:
/// that one need not wait. But all that have come must be counted before a wait, for the next may
/// be of somebody who waits, too.
void FramedCall::send_paced(std::span<const Transfer> transfers) {
  constexpr size_t kMessages = 4, kBytes = size_t{1} << 17;
  std::vector<int> missing = awaited(transfers);
  size_t under_way = 0;  // bytes, of messages from legs[come] on
  size_t come = 0;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const auto full = [&] { return i - come >= kMessages && under_way >= kBytes; };
    const auto count = [&] {
      std::erase_if(missing, [this](int peer) { return has_come(peer); });
      for (; come < std::min(transfers.size() - missing.size(), i); ++come)
        under_way -= transfers[come].out.bound;
    };
    if (full()) count();
    while (full()) {
      wait_for(missing);
      count();
    }
    post_transfer(transfers, i);
    under_way += transfers[i].out.bound;
  }
}

}  // namespace sparsecoll
