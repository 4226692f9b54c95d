// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/covered_ranks.hpp"

#include <algorithm>

namespace sparsecoll {

CoveredRanks::CoveredRanks(int own, int ranks, Arena& arena)
    : first_(own), covered_(arena.take_span<bool>(static_cast<size_t>(ranks))) {
  add(own);
}

void CoveredRanks::add(int rank) {
  const auto r = static_cast<size_t>(rank);
  if (!covered_[r]) ++count_;
  covered_[r] = true;
}

void CoveredRanks::add_from(const FrameHeader& header) {
  if (all()) return;
  const size_t first = header.covered_first, count = header.covered_count;
  const size_t before_end = std::min(count, covered_.size() - first);
  add_range(first, before_end);
  add_range(0, count - before_end);
}

void CoveredRanks::add_range(size_t first, size_t count) {
  const auto range = covered_.subspan(first, count);
  count_ += static_cast<int>(std::ranges::count(range, false));
  std::ranges::fill(range, true);
}

void CoveredRanks::put_range(FrameHeader& header) {
  const int ranks = static_cast<int>(covered_.size());
  const auto covers = [&](int r) { return covered_[static_cast<size_t>((r + ranks) % ranks)]; };
  while (around_ < ranks && covers(first_ - 1)) --first_, ++around_;
  while (around_ < ranks && covers(first_ + around_)) ++around_;
  header.covered_first = static_cast<uint32_t>((first_ + ranks) % ranks);
  header.covered_count = static_cast<uint32_t>(around_);
}

std::vector<int> CoveredRanks::missing(std::span<const int> absent) const {
  std::vector<int> ranks;
  for (size_t r = 0; r < covered_.size(); ++r)
    if (!covered_[r] || std::ranges::find(absent, static_cast<int>(r)) != absent.end())
      ranks.push_back(static_cast<int>(r));
  return ranks;
}

}  // namespace sparsecoll
