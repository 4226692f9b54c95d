// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/call_span.hpp"

#include "calls/algorithm_info.hpp"
#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

namespace {

/// Returns the facts that the timeline shows of a call: its sizes and its algorithm, or the number
/// of calls in a group.
std::array<Timeline::Fact, 3> facts_of(const Descriptor& call, const Stats& stats) {
  const auto verb = static_cast<Verb>(call.verb);
  if (verb == Verb::group) return {{{"calls", call.argument[kCalls]}}};
  if (verb == Verb::init || verb == Verb::destroy || verb == Verb::comm_split ||
      verb == Verb::comm_measure || verb == Verb::push_sum_step)
    return {};
  std::array<Timeline::Fact, 3> facts{{{"count", call.argument[kCount]}, {"k", call.argument[kK]}}};
  if (stats.algorithm != sparsecollAlgoAuto)
    facts[2] = {"algorithm", 0, algorithm_info(stats.algorithm)->name};
  return facts;
}

}  // namespace

CallSpan::CallSpan(const Descriptor& call, uint64_t sequence, const Stats& stats,
                   Clock::time_point begin)
    : call_(call), stats_(stats), range_(stats.profiler, verb_name(call.verb)), begin_(begin) {
  if (stats.timeline) stats.timeline->begin_call(sequence);
}

CallSpan::~CallSpan() {
  if (Timeline* const timeline = stats_.timeline)
    timeline->add({verb_name(call_.verb), Timeline::Lane::host, timeline->call(), begin_,
                   Clock::now(), facts_of(call_, stats_)});
}

}  // namespace sparsecoll
