// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/descriptor.hpp"
#include "core/stats.hpp"

namespace sparsecoll {

/// The span of a whole call in the timeline where `stats` records one: from its making to its end,
/// and what is known of it then.
class CallSpan {
 public:
  CallSpan(const Descriptor& call, uint64_t sequence, const Stats& stats);
  ~CallSpan();
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

 private:
  const Descriptor& call_;
  const Stats& stats_;
  Clock::time_point begin_;
};

}  // namespace sparsecoll
