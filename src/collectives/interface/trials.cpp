// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/interface/trials.hpp"

#include <algorithm>

namespace sparsecoll {

namespace {

constexpr uint64_t kUntimed = 2, kLeastTimings = 2, kTimings = 3;
constexpr uint64_t kSampled = 64, kMostCalls = 1024;

bool is_over_twice(uint64_t one, uint64_t other) { return one / 2 > other; }
/// Returns whether one number is over 4/3 of the other one.
bool differ(uint64_t one, uint64_t other) { return one / 4 > other / 3 || other / 4 > one / 3; }

}  // namespace

size_t Trials::next(std::span<const size_t> candidates, uint64_t entries) {
  if (entries_ == 0) entries_ = entries;
  if (calls_ >= limit_) {
    restart();
    limit_ = kMostCalls;
  }
  if (differ(entries, entries_)) restart();
  if (entries_ == 0) entries_ = entries;
  ++calls_;
  size_t best = candidates.front();
  const size_t* trial = nullptr;
  for (const size_t& each : candidates) {
    const uint64_t least = tried_[each].least, so_far = tried_[best].least;
    if (least != 0 && (so_far == 0 || least < so_far)) best = each;
    if (candidates.size() > 1 && needs_trial(each) &&
        (!trial || tried_[each].calls < tried_[*trial].calls))
      trial = &each;
  }
  trying_ = trial != nullptr;
  last_ = trial ? *trial : best;
  due_ =
      trial ? tried_[last_].calls++ >= kUntimed : candidates.size() > 1 && calls_ % kSampled == 0;
  return last_;
}

std::optional<uint64_t> Trials::own() const {
  if (!due_) return std::nullopt;
  return own_;
}

void Trials::agree(uint64_t nanoseconds) {
  due_ = false;
  Tried& tried = tried_[last_];
  const uint64_t time = std::max<uint64_t>(nanoseconds, 1), before = tried.least;
  const bool sampled = tried.timings >= kTimings;
  ++tried.timings;
  if (before == 0 || time < before) tried.least = time;
  const uint64_t others = least_of_others(last_);
  if (sampled && is_over_twice(time, before) && others != 0 && time > others) restart();
}

std::array<uint64_t, 3 * Trials::kMost + 5> Trials::words() const {
  std::array<uint64_t, 3 * kMost + 5> words{calls_, entries_, last_, due_ ? 1u : 0u, limit_};
  size_t at = 5;
  for (const Tried& each : tried_)
    for (const uint64_t word : {each.calls, each.timings, each.least}) words[at++] = word;
  return words;
}

uint64_t Trials::least_of_others(size_t algorithm) const {
  uint64_t least = 0;
  for (size_t each = 0; each < kMost; ++each)
    if (each != algorithm && tried_[each].least != 0 && (least == 0 || tried_[each].least < least))
      least = tried_[each].least;
  return least;
}

bool Trials::needs_trial(size_t algorithm) const {
  const Tried& tried = tried_[algorithm];
  if (tried.calls >= kUntimed + kTimings) return false;
  const uint64_t others = least_of_others(algorithm);
  return tried.timings < kLeastTimings || others == 0 || !is_over_twice(tried.least, others);
}

void Trials::restart() {
  const uint64_t limit = limit_;
  *this = Trials();
  limit_ = limit;
}

}  // namespace sparsecoll
