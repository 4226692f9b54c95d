// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/agreement.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Returns the first difference between two ranks' arguments in words; empty if there is none.
std::string first_difference(const CallNotice& own, const CallNotice& theirs, int peer) {
  const size_t both = std::min(own.members.size(), theirs.members.size());
  for (size_t m = 0; m < both; ++m) {
    const std::string what = difference(own.members[m], theirs.members[m], peer);
    if (!what.empty()) return text("call ", m + 1, " of the group: ", what);
  }
  return difference(own.descriptor, theirs.descriptor, peer);
}

}  // namespace

std::string find_disagreement(std::span<const CallNotice> notices, int rank) {
  const int ranks = static_cast<int>(notices.size());
  const auto of = [&](int peer) -> const CallNotice& { return notices[static_cast<size_t>(peer)]; };
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != rank && of(peer).bad_arguments)
      return text("rank ", peer, " passed a bad argument: ", of(peer).problem);
  for (int peer = 0; peer < ranks; ++peer) {
    const std::string what = first_difference(of(rank), of(peer), peer);
    if (!what.empty()) return text("ranks disagree on ", what);
  }
  return "";
}

void put_notice_text(const char* text, char (&notice)[kNoticeText]) {
  std::strncpy(notice, text, kNoticeText - 1);
  notice[kNoticeText - 1] = '\0';
}

std::string notice_text(const char (&notice)[kNoticeText]) {
  return std::string(notice, std::find(notice, notice + kNoticeText - 1, '\0'));
}

}  // namespace sparsecoll
