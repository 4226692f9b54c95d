// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/recorder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "calls/flight_recorder.hpp"

namespace sparsecoll::perf {
namespace {

/// Records a call with these peers, as a real call does. It reads no clock: a real call records
/// times that its deadline and phases have read.
void record_call(FlightRecorder& recorder, uint64_t number, std::span<const int> peers,
                 Clock::time_point time) {
  Descriptor call;
  call.verb = static_cast<uint64_t>(Verb::sparse_allreduce);
  Progress* const progress = recorder.begin(number, call, time);
  for (const Phase phase : {Phase::select, Phase::pack, Phase::exchange, Phase::reduce}) {
    progress->reach(stage_of(phase), time);
    if (phase != Phase::exchange || peers.empty()) continue;
    FlightRecorder::Wait wait(&recorder);
    wait.wait_for(peers);
  }
  progress->reach(Stage::confirmed);
  recorder.end(1);
}

/// Returns the nanoseconds of one call.
double time_calls(int calls, std::span<const int> peers) {
  FlightRecorder recorder;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) record_call(recorder, static_cast<uint64_t>(i), peers, start);
  const std::chrono::duration<double, std::nano> took = Clock::now() - start;
  return took.count() / calls;
}

}  // namespace

int measure_recorder(int calls, int runs) {
  constexpr std::array<int, 8> kPeers{1, 2, 3, 4, 5, 6, 7, 8};
  std::printf("# flight recorder: %d calls in each of %d runs\n", calls, runs);
  std::printf("# %-34s %10s %10s\n", "a call", "min (ns)", "median (ns)");
  for (const size_t waits : {size_t{0}, size_t{1}, kPeers.size()}) {
    std::vector<double> times;
    for (int run = 0; run < runs; ++run)
      times.push_back(time_calls(calls, std::span(kPeers).first(waits)));
    std::ranges::sort(times);
    const std::string what =
        waits == 0 ? "without a wait" : "that waits for " + std::to_string(waits) + " peers";
    std::printf("  %-34s %10.1f %10.1f\n", what.c_str(), times.front(), times[times.size() / 2]);
  }
  return 0;
}

}  // namespace sparsecoll::perf
