// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/descriptor.hpp"
#include "core/stats.hpp"

namespace sparsecoll {

/// Records one call in the timeline of `stats`, from `begin` to destruction, with the facts that
/// are known at its end, and shows it to the profiler of `stats`. Each of them may be absent.
class CallSpan {
 public:
  /// `call` and `stats` outlive this object.
  CallSpan(const Descriptor& call, uint64_t sequence, const Stats& stats, Clock::time_point begin);
  ~CallSpan();
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

 private:
  const Descriptor& call_;
  const Stats& stats_;
  const ProfilerRange range_;
  const Clock::time_point begin_;
};

}  // namespace sparsecoll
