// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/deadline.hpp"
#include "core/profiler.hpp"
#include "core/timeline.hpp"

namespace sparsecoll {

/// The timed phases of a call.
enum class Phase : size_t { select, pack, exchange, reduce };
inline constexpr std::array kPhases{"select", "pack", "exchange", "reduce"};

/// The stages of a call, in order.
enum class Stage : uint32_t { begun, select, pack, exchange, reduce, confirmed };
inline constexpr std::array kStages{"begun", "select", "pack", "exchange", "reduce", "confirmed"};
constexpr Stage stage_of(Phase phase) {
  return static_cast<Stage>(static_cast<uint32_t>(phase) + 1);
}

/// The stage of the running call. One thread writes it, any thread may read it.
class Progress {
 public:
  void reach(Stage stage) { stage_.store(stage, std::memory_order_release); }
  /// Sets the stage, and the time at which the call reached it.
  void reach(Stage stage, Clock::time_point time) {
    reach(stage);
    set_time(time);
  }
  void set_time(Clock::time_point time) {
    time_.store(time.time_since_epoch().count(), std::memory_order_release);
  }
  Stage stage() const { return stage_.load(std::memory_order_acquire); }
  /// Returns the last time that was set.
  Clock::time_point time() const {
    return Clock::time_point(Clock::duration(time_.load(std::memory_order_acquire)));
  }

 private:
  std::atomic<Stage> stage_{Stage::begun};
  std::atomic<Clock::rep> time_{0};
};

/// The statistics of one call, from which the C API's sparsecollStats_t is filled.
struct Stats {
  int algorithm = 0;
  size_t bytes_sent = 0;
  size_t bytes_received = 0;
  size_t messages_sent = 0;
  size_t selected = 0;
  size_t result = 0;
  size_t skipped = 0;             ///< calls that left their residuals unchanged
  bool counts_on_device = false;  ///< `selected` or `result` lack counts that only the device knows
  std::array<double, kPhases.size()> seconds{};  ///< by phase
  std::optional<Phase> running;                  ///< the innermost phase that is timed now
  Timeline* timeline = nullptr;                  ///< also records the phases; null: no timeline
  Progress* progress = nullptr;                  ///< also gets the phase; null: not wanted
  const Profiler* profiler = nullptr;            ///< also sees the phases; null: there is none

  double& in(Phase phase) { return seconds[static_cast<size_t>(phase)]; }
  double in(Phase phase) const { return seconds[static_cast<size_t>(phase)]; }
  void add(const Stats& call) {
    algorithm = call.algorithm;
    bytes_sent += call.bytes_sent;
    bytes_received += call.bytes_received;
    messages_sent += call.messages_sent;
    selected += call.selected;
    result += call.result;
    skipped += call.skipped;
    counts_on_device = counts_on_device || call.counts_on_device;
    for (size_t p = 0; p < seconds.size(); ++p) seconds[p] += call.seconds[p];
  }
};

/// Adds the time until the end of its scope to a phase, and subtracts it from the phase that
/// contains it, if any.
class Stopwatch {
 public:
  Stopwatch(Stats& stats, Phase phase) : Stopwatch(stats, phase, Clock::now()) {}
  /// `now`: the time, for callers that have just read the clock.
  Stopwatch(Stats& stats, Phase phase, Clock::time_point now)
      : stats_(stats),
        phase_(phase),
        outer_(std::exchange(stats.running, phase)),
        range_(stats.profiler, kPhases[static_cast<size_t>(phase)]),
        start_(now) {
    if (stats_.progress) stats_.progress->reach(stage_of(phase_), start_);
  }
  /// Makes the phase end when it began: there was nothing to do in it.
  void took_no_time() { took_no_time_ = true; }
  Clock::time_point start() const { return start_; }
  ~Stopwatch() {
    const auto end = took_no_time_ ? start_ : Clock::now();
    const double spent = std::chrono::duration<double>(end - start_).count();
    stats_.in(phase_) += spent;
    if (outer_) stats_.in(*outer_) -= spent;
    stats_.running = outer_;
    if (stats_.progress) stats_.progress->reach(stage_of(outer_.value_or(phase_)), end);
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
  const ProfilerRange range_;
  Clock::time_point start_;
  bool took_no_time_ = false;
};

}  // namespace sparsecoll
