// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Agreement in words before a call in stream order: every rank tells all others what it was called
// with, and what was wrong with it. P - 1 messages of fixed size in one exchange, and the same once
// more for the members of groups that differ.
#include <cstring>

#include "calls/stream/stream_call.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {
/// Instead of that of a descriptor.
constexpr uint64_t kNoticeHash = 0x6e6f7469636573;  // "notices"
}  // namespace

struct StreamCall::Notice {
  Stamp stamp;  ///< no notice of this call: the peer has sent something else
  Descriptor descriptor;
  uint64_t bad_arguments;
  char problem[400];
};

std::vector<ConstBytes> StreamCall::gather_all(ConstBytes own) {
  std::vector<Piece> pieces;
  std::vector<ConstBytes> all(static_cast<size_t>(size()));
  all[static_cast<size_t>(rank())] = own;
  std::byte* const mine = const_cast<std::byte*>(own.data());  // is only read
  for (int d = 1; d < size(); ++d) {
    pieces.push_back({(rank() + d) % size(), true, MessageMemory::host, mine, own.size()});
    pieces.push_back({(rank() + d) % size(), false, MessageMemory::host, nullptr, own.size()});
  }
  if (!pieces.empty()) move(pieces);
  for (const Piece& piece : pieces)
    if (!piece.sends) all[static_cast<size_t>(piece.peer)] = {piece.at, piece.bytes};
  return all;
}

void StreamCall::meet_all(const Error* problem) {
  met_ = true;
  const Stopwatch watch(stats_, Phase::exchange);
  Notice own{};
  own.stamp = {terms_.number, kNoticeHash};
  own.descriptor = terms_.descriptor;
  own.bad_arguments = problem != nullptr;
  if (problem) std::strncpy(own.problem, problem->what(), sizeof own.problem - 1);
  const auto notices = gather_all(std::as_bytes(std::span(&own, 1)));
  const std::string differs = verdict(notices);
  if (problem) throw Error(*problem);
  if (!differs.empty()) throw Error(sparsecollInvalidUsage, differs);
}

/// What is wrong with the call as seen from this rank; empty: nothing.
std::string StreamCall::verdict(const std::vector<ConstBytes>& notices) {
  std::string first;
  bool same_length = true;  // of groups, on all ranks: then all of them tell their members
  bool agreed = true, bad = false;
  for (int peer = 0; peer < size(); ++peer) {
    Notice theirs;
    std::memcpy(&theirs, notices[static_cast<size_t>(peer)].data(), sizeof theirs);
    if (theirs.stamp != Stamp{terms_.number, kNoticeHash}) refuse(theirs.stamp, peer);
    theirs.problem[sizeof theirs.problem - 1] = '\0';
    const Descriptor& own = terms_.descriptor;
    agreed = agreed && theirs.descriptor == own;
    same_length = same_length && theirs.descriptor.verb == own.verb &&
                  theirs.descriptor.argument[kCalls] == own.argument[kCalls];
    if (peer == rank()) continue;
    if (theirs.bad_arguments && !bad)
      first = text("rank ", peer, " passed a bad argument: ", theirs.problem);
    bad = bad || theirs.bad_arguments;
    if (const std::string what = difference(own, theirs.descriptor, peer);
        first.empty() && !what.empty())
      first = text("ranks disagree on ", what);
  }
  const bool group = terms_.descriptor.verb == static_cast<uint64_t>(Verb::group);
  if (!agreed && group && same_length) {
    const std::string member = difference_of_members();
    if (!bad && !member.empty()) return member;
  }
  return first;
}

std::string StreamCall::difference_of_members() {
  const auto all = gather_all(std::as_bytes(terms_.members));
  for (int peer = 0; peer < size(); ++peer)
    for (size_t m = 0; m < terms_.members.size(); ++m) {
      Descriptor theirs;
      std::memcpy(&theirs, all[static_cast<size_t>(peer)].data() + m * sizeof theirs,
                  sizeof theirs);
      const std::string what = difference(terms_.members[m], theirs, peer);
      if (!what.empty()) return text("ranks disagree on call ", m + 1, " of the group: ", what);
    }
  return "";
}

}  // namespace sparsecoll
