// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/timing.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::perf {
namespace {

/// A single rank, whose clock counts its readings.
class Alone final : public Ranks {
 public:
  explicit Alone(std::string& events) : Ranks(0, 1), events_(events) {}
  void barrier() override { events_ += "|"; }
  double now() override { return time_++; }
  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    return {Bytes(mine.begin(), mine.end())};
  }
  Communicator connect(const sparsecollConfig_t&) override { throw std::logic_error("unused"); }

 private:
  std::string& events_;
  double time_ = 0;
};

TEST_CASE("rounds differ by one call at most, and make all calls") {
  CHECK(calls_of_round(7, 0, 3) == 2);
  CHECK(calls_of_round(7, 1, 3) == 2);
  CHECK(calls_of_round(7, 2, 3) == 3);
  for (const int calls : {1, 2, 15, 100, 1000000})
    for (const int rounds : {1, 2, 3, 7, 15}) {
      int all = 0, least = calls, most = 0;
      for (int round = 0; round < rounds; ++round) {
        const int share = calls_of_round(calls, round, rounds);
        all += share;
        least = std::min(least, share);
        most = std::max(most, share);
      }
      CAPTURE(calls, rounds);
      CHECK(all == calls);
      CHECK(most - least <= 1);
    }
}

TEST_CASE("each timed call follows a barrier; the calls of all rounds are timed") {
  std::string events;
  Alone ranks(events);
  Options options;
  options.warmup = 2;
  Timing timing(
      ranks, options, [&] { events += "p"; }, [&] { events += "c"; });
  timing.warm_up();
  timing.add(1);
  events += " ";
  timing.add(2);
  CHECK(events == "pcpcp|c p|cp|c");
  CHECK(timing.times().minimum == 1);  // of the clock's readings
  CHECK(timing.times().maximum == 1);
}

}  // namespace
}  // namespace sparsecoll::perf
