// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// What a communicator does for SPARSECOLL_TIMELINE. No call fails for want of it.
#include "api/call_span.hpp"
#include "api/communicator.hpp"
#include "calls/framed/channel.hpp"
#include "collectives/registry.hpp"

namespace sparsecoll {

namespace {

/// How many entries there are, and are kept, or how many calls.
std::array<Timeline::Fact, 3> facts_of(const Descriptor& call, const Stats& stats) {
  const auto verb = static_cast<Verb>(call.verb);
  if (verb == Verb::group) return {{{"calls", call.argument[kCalls]}}};
  if (verb == Verb::init || verb == Verb::destroy || verb == Verb::comm_split ||
      verb == Verb::push_sum_step)
    return {};
  std::array<Timeline::Fact, 3> facts{{{"count", call.argument[kCount]}, {"k", call.argument[kK]}}};
  if (const AlgorithmEntry* const ran = find_algorithm(stats.algorithm); ran && ran->run)
    facts[2] = {"algorithm", 0, ran->name};
  return facts;
}

}  // namespace

CallSpan::CallSpan(const Descriptor& call, uint64_t sequence, const Stats& stats)
    : call_(call), stats_(stats) {
  if (!stats.timeline) return;
  stats.timeline->begin_call(sequence);
  begin_ = Clock::now();
}

CallSpan::~CallSpan() {
  if (Timeline* const timeline = stats_.timeline)
    timeline->add({verb_name(call_.verb), Timeline::Lane::host, timeline->call(), begin_,
                   Clock::now(), facts_of(call_, stats_)});
}

void Communicator::begin_timeline() {
  if (config_.timeline.empty()) return;
  try {
    timeline_ = std::make_unique<Timeline>();
  } catch (const std::bad_alloc&) {
    log_.write(LogLevel::warn, "SPARSECOLL_TIMELINE: out of memory");
  }
}

void Communicator::write_timeline() noexcept {
  if (!timeline_ || number_ == 0) return;  // no number: it was never made
  try {
    if (device_end_) device_end_->record_rest();
    Channel* const channel = link_->channel();
    const int world_rank = channel ? channel->transport().world_rank() : rank();
    const Timeline::Owner owner{rank(), size(), world_rank, number_};
    timeline_->write(Timeline::file_name(config_.timeline, owner), owner);
  } catch (const std::exception& error) {
    try {
      log_.write(LogLevel::warn, text("SPARSECOLL_TIMELINE: ", error.what()));
    } catch (const std::exception&) {
      // No memory even for the line.
    }
  }
}

}  // namespace sparsecoll
