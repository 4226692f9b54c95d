// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/covered_ranks.hpp"

#include <algorithm>

namespace sparsecoll {

CoveredRanks::CoveredRanks(int own, int ranks, Arena& arena)
    : own_(own), covered_(arena.take_span<bool>(static_cast<size_t>(ranks))) {
  add(own);
}

void CoveredRanks::add(int rank) {
  const auto r = static_cast<size_t>(rank);
  if (!covered_[r]) ++count_;
  covered_[r] = true;
}

void CoveredRanks::add_from(const FrameHeader& header) {
  for (uint32_t i = 0; i < header.covered_count; ++i)
    add(static_cast<int>((size_t{header.covered_first} + i) % covered_.size()));
}

void CoveredRanks::put_range(FrameHeader& header) const {
  const int ranks = static_cast<int>(covered_.size());
  const auto covers = [&](int r) { return covered_[static_cast<size_t>((r + ranks) % ranks)]; };
  int first = own_, count = 1;
  while (count < ranks && covers(first - 1)) --first, ++count;
  while (count < ranks && covers(first + count)) ++count;
  header.covered_first = static_cast<uint32_t>((first + ranks) % ranks);
  header.covered_count = static_cast<uint32_t>(count);
}

std::vector<int> CoveredRanks::missing(std::span<const int> absent) const {
  std::vector<int> ranks;
  for (size_t r = 0; r < covered_.size(); ++r)
    if (!covered_[r] || std::ranges::find(absent, static_cast<int>(r)) != absent.end())
      ranks.push_back(static_cast<int>(r));
  return ranks;
}

}  // namespace sparsecoll
