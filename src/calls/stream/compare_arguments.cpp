// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// StreamCall::compare_arguments(): agreement before a call in stream order. This takes one exchange
// of P - 1 messages of fixed size. If groups of the same length differ, a second exchange carries
// the arguments of their verbs.
#include <algorithm>
#include <cstring>

#include "calls/agreement.hpp"
#include "calls/stream/stream_call.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

// The stamp of a notice has this number instead of the hash of the arguments.
constexpr uint64_t kNoticeHash = 0x6e6f7469636573;  // "notices"

/// Returns whether the verbs of groups must be compared. All ranks get the same answer.
bool verbs_differ(const std::vector<CallNotice>& notices) {
  const Descriptor& first = notices.front().descriptor;
  if (first.verb != static_cast<uint64_t>(Verb::group)) return false;
  const auto has_same_length = [&](const CallNotice& each) {
    return each.descriptor.verb == first.verb &&
           each.descriptor.argument[kCalls] == first.argument[kCalls];
  };
  const auto is_same = [&](const CallNotice& each) { return each.descriptor == first; };
  return std::ranges::all_of(notices, has_same_length) && !std::ranges::all_of(notices, is_same);
}

}  // namespace

struct StreamCall::Notice {
  Stamp stamp;  ///< A peer in another call sends another stamp.
  Descriptor descriptor;
  uint64_t bad_arguments;
  char problem[kNoticeText];
};

std::vector<ConstBytes> StreamCall::allgather(ConstBytes own) {
  std::vector<StreamMessage> messages;
  std::vector<ConstBytes> all(static_cast<size_t>(size()));
  all[static_cast<size_t>(rank())] = own;
  auto* const sent = const_cast<std::byte*>(own.data());  // only read
  for (int d = 1; d < size(); ++d) {
    const int peer = (rank() + d) % size();
    messages.push_back({peer, true, MessageMemory::host, sent, own.size()});
    messages.push_back({peer, false, MessageMemory::host, nullptr, own.size()});
  }
  if (!messages.empty()) exchange_messages(messages);
  for (const StreamMessage& each : messages)
    if (!each.sends) all[static_cast<size_t>(each.peer)] = {each.at, each.bytes};
  return all;
}

void StreamCall::compare_arguments(const Error* problem) {
  compared_ = true;
  const Stopwatch watch(stats(), Phase::exchange);
  Notice own{};
  own.stamp = {number(), kNoticeHash};
  own.descriptor = identity_.descriptor;
  own.bad_arguments = problem != nullptr;
  if (problem) put_notice_text(problem->what(), own.problem);
  std::vector<CallNotice> notices;
  for (int peer = 0; const ConstBytes each : allgather(std::as_bytes(std::span(&own, 1)))) {
    Notice theirs;
    std::memcpy(&theirs, each.data(), sizeof theirs);
    if (theirs.stamp != own.stamp) refuse(theirs.stamp, peer);
    notices.push_back(
        {theirs.descriptor, theirs.bad_arguments != 0, notice_text(theirs.problem), {}});
    ++peer;
  }
  if (verbs_differ(notices))
    for (size_t peer = 0; const ConstBytes each : allgather(std::as_bytes(identity_.members))) {
      std::vector<Descriptor>& members = notices[peer++].members;
      members.resize(identity_.members.size());
      std::memcpy(members.data(), each.data(), each.size());
    }
  if (problem) throw Error(*problem);
  const std::string what = find_disagreement(notices, rank());
  if (!what.empty()) throw Error(sparsecollInvalidUsage, what);
}

}  // namespace sparsecoll
