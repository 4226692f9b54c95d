// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/failures.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace sparsecoll {

namespace {

/// Joins two failures into one. It has the first error, unless that is Truncated and the second one
/// is not: then it has the second.
void join(Failure& failure, Failure&& next) noexcept {
  if (failure.error.code() == sparsecollTruncated && next.error.code() != sparsecollTruncated) {
    failure.operation = std::move(next.operation);
    failure.error = std::move(next.error);
  }
  failure.first = std::min(failure.first, next.first);
  failure.last = std::max(failure.last, next.last);
}

}  // namespace

void Failures::add(uint64_t number, const CallError& error) noexcept {
  if (all_.size() == kKept) join_two();
  // The place is mostly the end. A callback of an earlier call may fail after a later call.
  const auto place = std::ranges::upper_bound(all_, number, {}, &Failure::first);
  try {
    all_.insert(place, {number, number, error.operation, Error(error.code, error.why)});
  } catch (const std::bad_alloc&) {
    Failure without_text{number, number, "", Error(error.code, "")};  // needs no memory
    if (all_.size() < all_.capacity())
      all_.insert(std::ranges::upper_bound(all_, number, {}, &Failure::first),
                  std::move(without_text));
    else
      join(all_.back(), std::move(without_text));
  }
}

std::optional<Failure> Failures::take(uint64_t number) {
  if (all_.empty() || all_.front().first > number) return std::nullopt;
  Failure taken = all_.front();
  taken.last = std::min(taken.last, number);
  const bool with_later = fatal(taken.error.code());
  do {
    if (all_.front().last > number) {
      all_.front().first = number + 1;
      break;
    }
    all_.erase(all_.begin());
  } while (with_later && !all_.empty() && all_.front().first <= number);
  return taken;
}

const Failure* Failures::find(uint64_t number) const {
  const auto after = std::ranges::upper_bound(all_, number, {}, &Failure::first);
  if (after == all_.begin()) return nullptr;
  const Failure& found = *std::prev(after);
  return found.last >= number ? &found : nullptr;
}

void Failures::join_two() noexcept {
  const auto in_a_row = [](const Failure& later, const Failure& earlier) {
    return later.first <= earlier.last + 1;
  };
  auto later = std::adjacent_find(all_.rbegin(), all_.rend(), in_a_row);
  if (later == all_.rend()) later = all_.rbegin();
  join(later[1], std::move(*later));
  all_.erase(later.base() - 1);
}

}  // namespace sparsecoll
