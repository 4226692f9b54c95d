// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The waits of a channel: for messages of peers, and for memory that was sent.
#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "calls/framed/channel.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

// abort() and interrupt() are noticed within this time.
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

void Channel::wait(std::span<const int> peers, const ChannelWait& wait) {
  std::vector<int>& awaited = awaited_;
  awaited.assign(peers.begin(), peers.end());
  FlightRecorder::Wait recorded(recorder_);
  for (;;) {
    // Asked before progress(): if a peer had left by then, progress() receives its last frames.
    const std::vector<int> gone_peers = gone(awaited);
    const std::vector<int> left =
        wait.needs_all_ranks ? transport_.gone_before(current_) : std::vector<int>{};
    const auto missing = [&] { return wait.missing(awaited); };
    bool all = false;
    try {
      all = progress(wait.on_frame);
    } catch (const PeerTimeout&) {
      if (!wait.reports_own_timeout) throw;
      rethrow_timeout(wait.deadline, missing);
    }
    wait.update(awaited);
    if (awaited.empty()) return;
    if (!all) {
      check(wait.deadline, missing, Clock::now());
      continue;
    }
    refuse_gone(gone_peers, awaited);
    refuse_gone(left, left);
    recorded.wait_for(awaited);
    pause(wait.deadline, missing);
  }
}

void Channel::check(const Deadline& deadline, FunctionRef<std::string()> missing,
                    Clock::time_point now) const {
  if (aborted_) fail(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
  if (deadline.passed(now)) fail(sparsecollTimeout, "deadline passed, ", missing());
}

void Channel::pause(const Deadline& deadline, FunctionRef<std::string()> missing) {
  const auto now = Clock::now();
  check(deadline, missing, now);
  transport_.idle(deadline.within(kPause, now));
}

bool Channel::flush_until_0(const Deadline& deadline, size_t (Transport::*unsent)()) {
  bool waited = false;
  while ((transport_.*unsent)() > 0) {
    progress();
    waited = true;
    if ((transport_.*unsent)() == 0) break;
    pause(deadline, [&] {
      std::vector<int> slow;
      for (int peer = 0; peer < size_; ++peer)
        if (transport_.unsent_to(peer) > 0) slow.push_back(peer);
      return text((transport_.*unsent)(), " bytes that this rank sent were not taken by ",
                  name_ranks(slow));
    });
  }
  if (trace_) trace_->poll();
  return waited;
}

bool Channel::flush(const Deadline& deadline) {
  return flush_until_0(deadline, &Transport::unsent);
}

void Channel::flush_handed_over(const Deadline& deadline) {
  flush_until_0(deadline, &Transport::unsent_handed_over);
}

std::vector<int> Channel::gone(const std::vector<int>& peers) const {
  std::vector<int> gone;
  if (!transport_.any_gone()) return gone;
  for (const int peer : peers)
    if (transport_.gone(peer)) gone.push_back(peer);
  return gone;
}

void Channel::refuse_gone(const std::vector<int>& gone, const std::vector<int>& awaited) const {
  for (const int peer : gone) {
    if (std::find(awaited.begin(), awaited.end(), peer) == awaited.end()) continue;
    // Another rank may have failed before, which is why this one has ended.
    std::string others;
    for (int other = 0; other < size_; ++other)
      if (other != peer && other != rank_ && transport_.gone(other))
        others += text(others.empty() ? "; gone, too: rank " : ", rank ", other);
    fail(sparsecollRemoteError, "rank ", peer,
         " has destroyed or aborted its communicator, or failed", others);
  }
}

void rethrow_timeout(const Deadline& deadline, FunctionRef<std::string()> missing) {
  if (!deadline.mostly_passed()) throw;
  fail(sparsecollTimeout, "deadline passed, ", missing());
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) names += i + 1 == ranks.size() ? " and " : ", ";
    names += std::to_string(ranks[i]);
  }
  return names;
}

}  // namespace sparsecoll
