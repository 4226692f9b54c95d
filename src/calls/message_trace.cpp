// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/message_trace.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include "transport/transport.hpp"

namespace sparsecoll {

MessageTrace::MessageTrace(Timeline& timeline, Transport& transport)
    : timeline_(timeline), transport_(transport), unsent_(static_cast<size_t>(transport.size())) {}

void MessageTrace::add(Timeline::Lane lane, const PendingSend& message,
                       Clock::time_point end) noexcept {
  const auto& [name, peer, call, number, bytes] = message.message;
  timeline_.add({name,
                 lane,
                 call,
                 message.begin,
                 end,
                 {{{Timeline::kPeer, static_cast<uint64_t>(peer)},
                   {"bytes", bytes},
                   {Timeline::kNumber, number}}}});
}

void MessageTrace::record_arrival(const TracedMessage& message) noexcept {
  const auto now = Clock::now();
  add(Timeline::Lane::receive, {message, now}, now);
}

void MessageTrace::follow(const TracedMessage& message, Clock::time_point begin) noexcept {
  try {
    pending_.push_back({message, begin});
  } catch (const std::bad_alloc&) {
    return;  // A call does not fail because there is no memory for its trace.
  }
  poll();
}

void MessageTrace::poll() noexcept {
  if (pending_.empty()) return;
  try {
    find_left();
  } catch (const std::exception&) {
    // Out of memory: the next poll finds these messages. The call itself finds a broken transport.
  }
}

void MessageTrace::find_left() {
  const auto now = Clock::now();
  ++polls_;
  // Begins with the last message, because the bytes that have not left are those of the last ones.
  for (auto each = pending_.rbegin(); each != pending_.rend(); ++each) {
    TracedMessage& message = each->message;
    if (message.bytes == 0) continue;
    Unsent& left = unsent_[static_cast<size_t>(message.peer)];
    if (left.poll != polls_) left = {polls_, transport_.unsent_to(message.peer)};
    if (left.bytes > 0) {
      left.bytes -= std::min(left.bytes, message.bytes);
      continue;
    }
    add(Timeline::Lane::send, *each, now);
    message.bytes = 0;  // marks the message as done; no message has 0 bytes
  }
  std::erase_if(pending_, [](const PendingSend& each) { return each.message.bytes == 0; });
}

}  // namespace sparsecoll
