// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The gossip that waits in a channel for steps of this rank.
#include <algorithm>
#include <cstring>
#include <utility>

#include "calls/framed/channel.hpp"
#include "core/error.hpp"

namespace sparsecoll {

// A block is replaced by a smaller one if it is this many times as large as its message.
constexpr size_t kWasteful = 8;

void Channel::open(uint64_t state) {
  states_.push_back(state);
  newest_state_ = state;
}

void Channel::close(uint64_t state) noexcept {
  std::erase(states_, state);
  for (int peer = 0; peer < size_; ++peer)
    for (auto each = gossip(peer).begin(); each != gossip(peer).end();)
      if (gossip_header(*each).state == state)
        take_gossip(peer, each);
      else
        ++each;
}

bool Channel::is_wanted(const Frame& gossip) const {
  // A peer may send the first message of a state before this rank has opened it.
  const uint64_t state = gossip_header(gossip).state;
  return state > newest_state_ || std::ranges::binary_search(states_, state);
}

void Channel::keep_gossip(int peer) {
  Frame& frame = gossip(peer).back();
  if (!is_wanted(frame)) return gossip(peer).pop_back();
  if (frame.buffer.size() <= frame.buffer.capacity() / kWasteful) {
    Buffer fitting = transport_.pool().take_fitting(frame.buffer.size());
    std::memcpy(fitting.data(), frame.buffer.data(), frame.buffer.size());
    frame.buffer = std::move(fitting);
  }
  gossip_bytes_ += frame.buffer.capacity();
  if (gossip_bytes_ > limits_.waiting_gossip)
    fail(sparsecollRemoteError, "gossip of ", gossip_bytes_,
         " bytes waits for steps of this rank, the last of rank ", peer, "; expected at most ",
         limits_.waiting_gossip);
}

Frame Channel::take_gossip(int peer, FrameQueue::iterator& frame) {
  gossip_bytes_ -= frame->buffer.capacity();
  Frame taken = std::move(*frame);
  frame = gossip(peer).erase(frame);
  return taken;
}

}  // namespace sparsecoll
