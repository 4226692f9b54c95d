// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The candidates of a selection, and the threshold that the k largest of them pass.

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <span>
#include <utility>

#include "kernels/host/backend.hpp"
#include "kernels/host/threshold.hpp"

namespace sparsecoll::host {

/// A part of a vector, and the candidates in it, by index.
template <class Acc>
struct Chunk {
  size_t begin = 0;
  size_t end = 0;
  uint32_t* index = nullptr;  ///< indices of the candidates, from `begin` on
  Acc* value = nullptr;
  size_t capacity = 0;
  size_t found = 0;
  size_t discarded = 0;   ///< candidates that were discarded, before those that are stored
  Threshold threshold{};  ///< the threshold, with this chunk's share of the ties
  size_t above = 0;       ///< candidates above the threshold
  size_t ties = 0;        ///< candidates equal to the threshold
  size_t at = 0;          ///< position at which the first entry of this chunk is written
  size_t written = 0;
};

/// Calls visit(key) for every candidate.
template <class Acc, class Visit>
void visit_candidates(std::span<const Chunk<Acc>> chunks, Visit visit) {
  for (const Chunk<Acc>& each : chunks)
    for (size_t j = 0; j < each.found; ++j) visit(uint64_t{key_of(each.value[j])});
}

/// Returns the threshold that the k largest candidates pass. Copies those that share the first
/// digit of the k-th key to `scratch`, if they fit, and compares only these exactly.
template <class Acc>
Threshold find_threshold(std::span<const Chunk<Acc>> chunks, size_t k,
                         std::span<Key<Acc>> scratch) {
  if (k == 0) return {kKeyEnd<Acc>, 0};
  constexpr int kShift = std::bit_width(kKeyEnd<Acc> - 1) - kDigitBits;
  // Two counters for each digit, used by turns, so that equal digits wait less for each other.
  std::array<size_t, (kKeyEnd<Acc> >> kShift) + 1> bin{}, odd{};
  size_t *counters = bin.data(), *others = odd.data();
  visit_candidates(chunks, [&](uint64_t key) {
    ++counters[key >> kShift];
    std::swap(counters, others);
  });
  std::ranges::transform(bin, odd, bin.begin(), std::plus<>());
  size_t digit = bin.size() - 1, missing = k;
  while (digit > 0 && bin[digit] < missing) missing -= bin[digit--];
  if (bin[digit] >= scratch.size())
    return find_threshold<Acc>(k, [&](auto visit) { visit_candidates(chunks, visit); });
  size_t n = 0;
  visit_candidates(chunks, [&](uint64_t key) {
    scratch[n] = static_cast<Key<Acc>>(key);  // the next key overwrites it unless it counts
    n += key >> kShift == digit;
  });
  return find_threshold<Acc>(n, missing, [scratch](size_t j) -> uint64_t { return scratch[j]; });
}

/// Sets how many ties of the threshold each chunk passes, and where its entries are written. Ties
/// pass in index order.
template <class Acc>
void split_threshold(Backend& backend, std::span<Chunk<Acc>> chunks, const Threshold& threshold) {
  if (chunks.size() == 1) {
    chunks[0].threshold = threshold;
    return;
  }
  backend.run(chunks.size(), [&](size_t s) {
    Chunk<Acc>& each = chunks[s];
    each.above = each.ties = 0;
    for (size_t j = 0; j < each.found; ++j) {
      const uint64_t key = key_of(each.value[j]);
      each.above += key > threshold.key;
      each.ties += key == threshold.key;
    }
  });
  size_t at = 0;
  uint64_t ties = threshold.ties;
  for (Chunk<Acc>& each : chunks) {
    each.at = at;
    each.threshold = {threshold.key, std::min<uint64_t>(ties, each.ties)};
    ties -= each.threshold.ties;
    at += each.above + static_cast<size_t>(each.threshold.ties);
  }
}

}  // namespace sparsecoll::host
