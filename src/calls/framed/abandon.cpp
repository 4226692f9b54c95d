// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The end of a call that the ranks do not agree on: every rank tells all others what it was called
// with, hears the same of each, and says what differed.
#include <algorithm>
#include <cstring>

#include "calls/framed/framed_call.hpp"
#include "core/error.hpp"

namespace sparsecoll {

/// What an abandon frame says; its payload is the fixed part and the members.
struct FramedCall::Notice {
  struct Fixed {
    Descriptor descriptor;
    uint32_t bad_arguments;
    uint32_t members;  ///< descriptors that follow
    char problem[400];
  } fixed{};
  std::vector<Descriptor> members;
};

ConstBytes FramedCall::own_notice(const Error* problem) {
  Notice::Fixed fixed{};
  fixed.descriptor = terms_.descriptor;
  fixed.bad_arguments = problem != nullptr;
  fixed.members = static_cast<uint32_t>(terms_.members.size());
  if (problem) std::strncpy(fixed.problem, problem->what(), sizeof fixed.problem - 1);
  const size_t bytes = sizeof fixed + terms_.members.size_bytes();
  std::byte* room = arena_.take<std::byte>(bytes);
  std::memcpy(room, &fixed, sizeof fixed);
  if (!terms_.members.empty())
    std::memcpy(room + sizeof fixed, terms_.members.data(), terms_.members.size_bytes());
  return {room, bytes};
}

void FramedCall::abandon(const Error* problem) {
  const ConstBytes mine = own_notice(problem);
  for (int i = 1; i < size(); ++i) {
    std::byte* room = arena_.take<std::byte>(kHeadroom + mine.size()) + kHeadroom;
    std::memcpy(room, mine.data(), mine.size());
    channel_.send((rank() + i) % size(), header(FrameKind::abandon), {room, mine.size()});
  }
  std::vector<Notice> notices(static_cast<size_t>(size()));
  for (std::vector<int> absent = others();;) {
    const std::vector<int> gone = channel_.gone(absent);
    channel_.pump([this](int peer, const Frame& frame) { refuse_gossip(peer, frame); });
    std::erase_if(absent,
                  [&](int peer) { return take_notice(peer, &notices[static_cast<size_t>(peer)]); });
    if (absent.empty()) break;
    channel_.give_up_on(gone, absent);
    channel_.pause(terms_.deadline, [&] {
      return text("call abandoned, but nothing was heard from ", name_ranks(absent));
    });
  }
  channel_.flush(terms_.deadline);
  if (problem) throw Error(*problem);
  throw Error(sparsecollInvalidUsage, verdict(notices));
}

bool FramedCall::take_notice(int peer, Notice* notice) {
  auto& queue = channel_.queue(peer);
  while (!queue.empty() && queue.front().header.sequence == terms_.sequence) {
    const Frame frame = std::move(queue.front());
    queue.pop_front();
    if (frame.kind() != FrameKind::abandon) continue;  // data of the abandoned call
    const ConstBytes payload = frame.payload();
    Notice::Fixed& fixed = notice->fixed;
    if (payload.size() >= sizeof fixed) std::memcpy(&fixed, payload.data(), sizeof fixed);
    if (payload.size() < sizeof fixed ||
        payload.size() - sizeof fixed != fixed.members * sizeof(Descriptor))
      fail(sparsecollRemoteError, "rank ", peer, " sent a notice of ", payload.size(),
           " bytes, expected at least ", sizeof fixed, " and those of its members");
    fixed.problem[sizeof fixed.problem - 1] = '\0';
    notice->members.resize(fixed.members);
    if (fixed.members > 0)
      std::memcpy(notice->members.data(), payload.data() + sizeof fixed,
                  fixed.members * sizeof(Descriptor));
    return true;
  }
  return false;
}

/// The first difference to a peer's call in words, empty if there is none.
std::string FramedCall::disagreement(const Notice& theirs, int peer) const {
  const size_t both = std::min(terms_.members.size(), theirs.members.size());
  for (size_t m = 0; m < both; ++m) {
    const std::string what = difference(terms_.members[m], theirs.members[m], peer);
    if (!what.empty()) return text("call ", m + 1, " of the group: ", what);
  }
  return difference(terms_.descriptor, theirs.fixed.descriptor, peer);
}

std::string FramedCall::verdict(const std::vector<Notice>& notices) const {
  std::vector<int> peers = others();
  std::ranges::sort(peers);
  for (const int peer : peers) {
    const Notice::Fixed& theirs = notices[static_cast<size_t>(peer)].fixed;
    if (theirs.bad_arguments)
      return text("rank ", peer, " passed a bad argument: ", theirs.problem);
  }
  for (const int peer : peers) {
    const std::string what = disagreement(notices[static_cast<size_t>(peer)], peer);
    if (!what.empty()) return text("ranks disagree on ", what);
  }
  return "ranks disagree";
}

}  // namespace sparsecoll
