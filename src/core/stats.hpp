// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/deadline.hpp"
#include "core/timeline.hpp"

namespace sparsecoll {

/// The parts of a call that are timed.
enum class Phase : size_t { select, pack, exchange, reduce };
inline constexpr std::array kPhases{"select", "pack", "exchange", "reduce"};

/// What one call did; the C API's sparsecollStats_t is filled from it.
struct Stats {
  int algorithm = 0;
  size_t bytes_sent = 0;
  size_t bytes_received = 0;
  size_t messages_sent = 0;
  size_t selected = 0;
  size_t result = 0;
  bool counts_on_device = false;  ///< some of selected and result is known to the device only
  std::array<double, kPhases.size()> seconds{};  ///< by phase
  std::optional<Phase> running;                  ///< the innermost that is timed
  Timeline* timeline = nullptr;                  ///< where phases are recorded, too; null: nowhere

  double& in(Phase phase) { return seconds[static_cast<size_t>(phase)]; }
  double in(Phase phase) const { return seconds[static_cast<size_t>(phase)]; }
  void add(const Stats& call) {
    algorithm = call.algorithm;
    bytes_sent += call.bytes_sent;
    bytes_received += call.bytes_received;
    messages_sent += call.messages_sent;
    selected += call.selected;
    result += call.result;
    counts_on_device = counts_on_device || call.counts_on_device;
    for (size_t p = 0; p < seconds.size(); ++p) seconds[p] += call.seconds[p];
  }
};

/// Adds the time until it goes out of scope to a phase, and takes it off the phase that it is
/// inside of, if any.
class Stopwatch {
 public:
  Stopwatch(Stats& stats, Phase phase)
      : stats_(stats),
        phase_(phase),
        outer_(std::exchange(stats.running, phase)),
        start_(Clock::now()) {}
  ~Stopwatch() {
    const auto end = Clock::now();
    const double spent = std::chrono::duration<double>(end - start_).count();
    stats_.in(phase_) += spent;
    if (outer_) stats_.in(*outer_) -= spent;
    stats_.running = outer_;
    if (Timeline* const timeline = stats_.timeline)
      timeline->add({kPhases[static_cast<size_t>(phase_)],
                     Timeline::Lane::host,
                     timeline->call(),
                     start_,
                     end,
                     {}});
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Stats& stats_;
  Phase phase_;
  std::optional<Phase> outer_;
  Clock::time_point start_;
};

}  // namespace sparsecoll
