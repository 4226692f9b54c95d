// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/warm.hpp"

#include <algorithm>

#include "core/checksum.hpp"

namespace sparsecoll {

namespace {
constexpr size_t kFixedWords = 10;
}

std::vector<uint64_t> Warm::words() const {
  std::vector<uint64_t> words{own_threshold, calls_since_cut,  crowded, threshold, entries,
                              threshold_age, reused_threshold, result,  drift,     caution};
  words.insert(words.end(), cuts.begin(), cuts.end());
  return words;
}

std::optional<Warm> Warm::from_words(std::span<const uint64_t> words) {
  if (words.size() < kFixedWords || words[2] > 1) return std::nullopt;
  const std::span<const uint64_t> cuts = words.subspan(kFixedWords);
  if (!std::is_sorted(cuts.begin(), cuts.end())) return std::nullopt;
  Warm warm;
  warm.cuts.assign(cuts.begin(), cuts.end());
  warm.own_threshold = words[0];
  warm.calls_since_cut = words[1];
  warm.crowded = words[2] != 0;
  warm.threshold = words[3];
  warm.entries = words[4];
  warm.threshold_age = words[5];
  warm.reused_threshold = words[6];
  warm.result = words[7];
  warm.drift = words[8];
  warm.caution = words[9];
  return warm;
}

uint64_t Warm::hash() const {
  Warm agreed = *this;
  agreed.own_threshold = 0;
  const std::vector<uint64_t> words = agreed.words();
  return checksum(std::as_bytes(std::span(words)));
}

}  // namespace sparsecoll
