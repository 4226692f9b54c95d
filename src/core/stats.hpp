// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "core/deadline.hpp"

namespace sparsecoll {

/// What one call did; the C API's sparsecollStats_t is filled from it.
struct Stats {
  int algorithm = 0;
  size_t bytes_sent = 0;
  size_t bytes_received = 0;
  size_t messages_sent = 0;
  size_t selected = 0;
  size_t result = 0;
  bool settles = false;  ///< some of selected and result is known to the device only
  double select_seconds = 0;
  double pack_seconds = 0;
  double exchange_seconds = 0;
  double reduce_seconds = 0;

  void add(const Stats& call) {
    algorithm = call.algorithm;
    bytes_sent += call.bytes_sent;
    bytes_received += call.bytes_received;
    messages_sent += call.messages_sent;
    selected += call.selected;
    result += call.result;
    settles = settles || call.settles;
    select_seconds += call.select_seconds;
    pack_seconds += call.pack_seconds;
    exchange_seconds += call.exchange_seconds;
    reduce_seconds += call.reduce_seconds;
  }
};

/// Adds the time until it goes out of scope to a phase.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_;
};

}  // namespace sparsecoll
