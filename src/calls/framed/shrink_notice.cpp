// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/shrink_notice.hpp"

#include <cstring>

#include "calls/agreement.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The fixed part of an encoded notice. A byte for each rank follows.
struct Head {
  uint32_t kind;
  int32_t result;
  uint64_t committed;
  uint64_t address;
  uint64_t lists;
  char why[kNoticeText];
};

}  // namespace

size_t ShrinkNotice::encoded_bytes(size_t ranks) { return sizeof(Head) + ranks; }

void ShrinkNotice::encode(size_t count, std::byte* to) const {
  Head head{
      static_cast<uint32_t>(kind), static_cast<int32_t>(result), committed, address, lists, {}};
  put_notice_text(why.c_str(), head.why);
  std::memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (size_t r = 0; r < count; ++r) to[r] = static_cast<std::byte>(r < ranks.size() && ranks[r]);
}

ShrinkNotice ShrinkNotice::decode(int peer, size_t ranks, ConstBytes bytes) {
  Head head{};
  if (bytes.size() == encoded_bytes(ranks)) std::memcpy(&head, bytes.data(), sizeof head);
  if (head.kind < 1 || head.kind > 3)
    fail(sparsecollRemoteError, "rank ", peer, " sent a notice of ", bytes.size(),
         " bytes in a shrink, expected ", encoded_bytes(ranks), " and a kind from 1 to 3");
  ShrinkNotice notice{static_cast<Kind>(head.kind),
                      static_cast<sparsecollResult_t>(head.result),
                      head.lists != 0,
                      head.committed,
                      head.address,
                      notice_text(head.why),
                      {}};
  for (size_t r = 0; r < ranks; ++r) notice.ranks.push_back(bytes[sizeof head + r] != std::byte{0});
  return notice;
}

}  // namespace sparsecoll
