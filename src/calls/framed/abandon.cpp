// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/abandon.hpp"

#include <algorithm>
#include <cstring>

#include "calls/agreement.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The fixed part of the payload of an abandon frame. The descriptors of a group's verbs follow.
struct NoticeHeader {
  Descriptor descriptor;
  uint32_t bad_arguments;
  uint32_t members;  ///< number of descriptors that follow
  char problem[kNoticeText];
};

std::vector<std::byte> encode(const CallIdentity& identity, const Error* problem) {
  NoticeHeader header{};
  header.descriptor = identity.descriptor;
  header.bad_arguments = problem != nullptr;
  header.members = static_cast<uint32_t>(identity.members.size());
  if (problem) put_notice_text(problem->what(), header.problem);
  std::vector<std::byte> notice(sizeof header + identity.members.size_bytes());
  std::memcpy(notice.data(), &header, sizeof header);
  const ConstBytes members = std::as_bytes(identity.members);
  std::ranges::copy(members, notice.begin() + sizeof header);
  return notice;
}

CallNotice decode(int peer, ConstBytes notice) {
  NoticeHeader header{};
  if (notice.size() >= sizeof header) std::memcpy(&header, notice.data(), sizeof header);
  if (notice.size() < sizeof header ||
      notice.size() - sizeof header != header.members * sizeof(Descriptor))
    fail(sparsecollRemoteError, "rank ", peer, " sent a notice of ", notice.size(),
         " bytes, expected at least ", sizeof header, " and those of its members");
  CallNotice decoded{header.descriptor, header.bad_arguments != 0, notice_text(header.problem),
                     std::vector<Descriptor>(header.members)};
  if (header.members > 0)
    std::memcpy(decoded.members.data(), notice.data() + sizeof header,
                header.members * sizeof(Descriptor));
  return decoded;
}

/// Takes this peer's frames of the call out of the channel up to its notice. Returns whether the
/// notice was there.
bool take_notice(Channel& channel, uint64_t sequence, int peer, CallNotice& notice) {
  auto& queue = channel.queue(peer);
  while (!queue.empty() && queue.front().header.sequence == sequence) {
    const Frame frame = std::move(queue.front());
    queue.pop_front();
    if (frame.kind() != FrameKind::abandon) continue;  // data of the abandoned call
    notice = decode(peer, frame.payload());
    return true;
  }
  return false;
}

}  // namespace

void refuse_gossip(const CallParameters& parameters, const Descriptor& descriptor, int peer,
                   const Frame& frame) {
  if (frame.kind() == FrameKind::gossip && frame.header.sequence == parameters.sequence)
    fail(sparsecollRemoteError, "rank ", peer, " called pushSumStep, this rank ",
         verb_name(descriptor.verb));
}

void abandon_call(Channel& channel, FrameSender& sender, const CallParameters& parameters,
                  const CallIdentity& identity, const Error* problem) {
  const int rank = channel.rank(), ranks = channel.size();
  const std::vector<std::byte> own = encode(identity, problem);
  std::vector<CallNotice> notices(static_cast<size_t>(ranks));
  notices[static_cast<size_t>(rank)] = decode(rank, own);
  std::vector<int> peers;
  for (int i = 1; i < ranks; ++i) peers.push_back((rank + i) % ranks);
  for (const int peer : peers) sender.send_abandon(peer, own);
  const auto take_notices = [&](std::vector<int>& awaited) {
    std::erase_if(awaited, [&](int peer) {
      return take_notice(channel, parameters.sequence, peer, notices[static_cast<size_t>(peer)]);
    });
  };
  channel.wait(peers, {.deadline = parameters.deadline,
                       .on_frame =
                           [&](int peer, const Frame& frame) {
                             refuse_gossip(parameters, identity.descriptor, peer, frame);
                           },
                       .update = take_notices,
                       .missing =
                           [](const std::vector<int>& awaited) {
                             return text("call abandoned, but nothing was heard from ",
                                         name_ranks(awaited));
                           },
                       .reports_own_timeout = false});
  channel.flush(parameters.deadline);
  if (problem) throw Error(*problem);
  const std::string what = find_disagreement(notices, rank);
  throw Error(sparsecollInvalidUsage, what.empty() ? "ranks disagree" : what);
}

}  // namespace sparsecoll
