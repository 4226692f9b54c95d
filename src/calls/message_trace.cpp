// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/message_trace.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <new>

#include "transport/transport.hpp"

namespace sparsecoll {

void MessageTrace::add(Timeline::Lane lane, const UnderWay& message,
                       Clock::time_point end) noexcept {
  const auto& [name, peer, call, bytes] = message.message;
  timeline_.add({name,
                 lane,
                 call,
                 message.begin,
                 end,
                 {{{"peer", static_cast<uint64_t>(peer)}, {"bytes", bytes}}}});
}

void MessageTrace::arrived(const Message& message) noexcept {
  const auto now = Clock::now();
  add(Timeline::Lane::receive, {message, now}, now);
}

void MessageTrace::started(const Message& message, Clock::time_point begin) noexcept {
  try {
    under_way_.push_back({message, begin});
  } catch (const std::bad_alloc&) {
    return;  // a call does not fail for want of a span
  }
  look();
}

void MessageTrace::look() noexcept {
  if (under_way_.empty()) return;
  try {
    find_left();
  } catch (const std::exception&) {
    // No memory now: the next look finds more. What is wrong with the transport the call finds out.
  }
}

void MessageTrace::find_left() {
  const auto now = Clock::now();
  std::map<int, size_t> left;  // bytes to a peer that messages in front of the last ones may have
  for (auto each = under_way_.rbegin(); each != under_way_.rend(); ++each) {
    Message& message = each->message;
    if (message.bytes == 0) continue;
    const auto [known, fresh] = left.try_emplace(message.peer, 0);
    if (fresh) known->second = transport_.unsent_to(message.peer);
    if (known->second > 0) {
      known->second -= std::min(known->second, message.bytes);
      continue;
    }
    add(Timeline::Lane::send, *each, now);
    message.bytes = 0;  // no message has none: it is over
  }
  std::erase_if(under_way_, [](const UnderWay& each) { return each.message.bytes == 0; });
}

}  // namespace sparsecoll
