// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/frame_sender.hpp"

#include <algorithm>
#include <cstring>

namespace sparsecoll {

namespace {

// Packing a smaller message takes less time than reading the clock twice.
constexpr size_t kTimedBytes = 4096;

}  // namespace

static_assert(kHeadroom >= sizeof(FrameHeader), "the header lies in front of the payload");

FrameSender::FrameSender(Channel& channel, const CallParameters& parameters,
                         const Descriptor& descriptor, Arena& arena)
    : channel_(channel),
      sequence_(parameters.sequence),
      hash_(descriptor.hash()),
      arena_(arena),
      deadline_(parameters.deadline),
      stats_(parameters.stats),
      covered_(channel.rank(), channel.size(), arena) {}

FrameHeader FrameSender::header(FrameKind kind) {
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(kind);
  header.sequence = sequence_;
  header.descriptor = hash_;
  header.marked = marked_ ? 1 : 0;
  covered_.put_range(header);
  return header;
}

void FrameSender::wait_packed(const std::byte* end, size_t bytes) {
  if (!kernels_) return;
  if (bytes < kTimedBytes) return kernels_->wait_packed(end);
  const Stopwatch watch(stats_, Phase::pack);
  kernels_->wait_packed(end);
}

void FrameSender::send(int peer, const Packet& packet, bool again) {
  const size_t bytes = packet.used ? kernels_->read(packet.used) : packet.bound;
  stats_.bytes_sent += sizeof(FrameHeader) + bytes;
  ++stats_.messages_sent;
  const bool on_device = kernels_ && kernels_->is_on_device(packet.data);
  std::byte* data = packet.data;
  if (again && !on_device) {  // every frame needs a header of its own in front of its payload
    data = arena_.take<std::byte>(kHeadroom + bytes) + kHeadroom;
    std::copy_n(packet.data, bytes, data);
  }
  std::byte* const head =
      on_device ? arena_.take<std::byte>(kHeadroom) : data - sizeof(FrameHeader);
  if (bytes > 0 && (on_device || channel_.is_long(bytes))) {
    const FrameHeader own = header(FrameKind::data);
    uint64_t* const tail = on_device ? nullptr : arena_.take<uint64_t>(1);
    if (tail && !channel_.goes_unsummed(peer, own, bytes)) stats_.bytes_sent += sizeof *tail;
    const auto wait = [&](const std::byte* end) {
      refuse_passed(deadline_);
      wait_packed(end, bytes);
    };
    return channel_.send_long(peer, own, {data, bytes, head, tail, wait});
  }
  wait_packed(packet.data + bytes, bytes);
  channel_.send(peer, header(FrameKind::data),
                {head + sizeof(FrameHeader), bytes, again && !on_device ? packet.data : nullptr});
}

void FrameSender::send_abandon(int peer, ConstBytes notice) {
  std::byte* const payload = arena_.take<std::byte>(kHeadroom + notice.size()) + kHeadroom;
  std::memcpy(payload, notice.data(), notice.size());
  channel_.send(peer, header(FrameKind::abandon), {payload, notice.size()});
}

}  // namespace sparsecoll
