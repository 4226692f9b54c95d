// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the trials by which Auto finds the fastest algorithm of a shape.

#include "collectives/interface/trials.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kA = 0, kB = 3, kC = 5;

/// The calls of one shape, whose algorithms take these times in ns.
struct Shape {
  std::vector<size_t> candidates;
  std::map<size_t, uint64_t> times;
  uint64_t entries = 1000;
  Trials trials = {};
  int timed = 0;  ///< calls on whose times the ranks have agreed

  size_t call() {
    if (trials.own()) {
      trials.agree(*trials.own());
      ++timed;
    }
    const size_t taken = trials.next(candidates, entries);
    if (trials.own()) trials.set_own(times.at(taken));
    return taken;
  }
  /// Makes calls. Returns the algorithms as letters.
  std::string calls(int number) {
    std::string taken;
    for (int i = 0; i < number; ++i) {
      const size_t each = call();
      taken += each == kA ? 'A' : each == kB ? 'B' : 'C';
    }
    return taken;
  }
};

TEST_CASE(
    "each candidate is called twice without and three times with a timing, by turns, then the "
    "fastest") {
  Shape slower{{kA, kB}, {{kA, 1000}, {kB, 1500}}};
  CHECK(slower.calls(14) == "ABABABABABAAAA");
  CHECK(slower.timed == 6);
  CHECK(slower.trials.least(kA) == 1000);
  CHECK(slower.trials.least(kB) == 1500);
  CHECK(slower.trials.least(kC) == 0);
  Shape faster{{kA, kB}, {{kA, 1500}, {kB, 1000}}};
  CHECK(faster.calls(14) == "ABABABABABBBBB");
  Shape three{{kC, kA, kB}, {{kA, 3}, {kB, 3}, {kC, 4}}};
  CHECK(three.calls(18) == "CABCABCABCABCABAAA");  // on a tie the first candidate
}

TEST_CASE("a candidate that takes over twice as long in two timings gets no third") {
  Shape shape{{kA, kB}, {{kA, 1000}, {kB, 2002}}};
  CHECK(shape.calls(12) == "ABABABABAAAA");
  Shape first{{kA, kB}, {{kA, 2002}, {kB, 1000}}};
  CHECK(first.calls(12) == "ABABABABBBBB");
}

TEST_CASE("a candidate is not given up for one long call") {
  Shape shape{{kA, kB}, {{kA, 1500}, {kB, 9000}}};
  CHECK(shape.calls(6) == "ABABAB");
  shape.times[kB] = 1000;
  CHECK(shape.calls(6) == "ABABBB");
}

TEST_CASE("calls that take longer and longer do not favour the first candidate") {
  Shape shape{{kA, kB}, {{kA, 1200}, {kB, 1000}}};
  std::string taken;
  for (int call = 0; call < 12; ++call) {
    taken += shape.calls(1);
    for (auto& [candidate, time] : shape.times) time += time / 8;
  }
  CHECK(taken.substr(10) == "BB");
}

TEST_CASE("a candidate without a rival is never timed") {
  Shape shape{{kB}, {{kB, 1000}}};
  CHECK(shape.calls(200) == std::string(200, 'B'));
  CHECK(shape.timed == 0);
  shape.candidates = {kB, kA};
  shape.times[kA] = 900;
  CHECK(shape.calls(12) == "BABABABABAAA");
}

TEST_CASE("trials start again when the chosen algorithm has become slow") {
  Shape shape{{kA, kB}, {{kA, 1000}, {kB, 1500}}};
  shape.calls(100);
  const int before = shape.timed;
  shape.times[kA] = 1400;  // slower, but not slower than B was
  CHECK(shape.calls(80) == std::string(80, 'A'));
  CHECK(shape.timed == before + 1);
  shape.times[kA] = 4000;
  const std::string taken = shape.calls(80);
  CHECK(taken.find('B') != std::string::npos);
  CHECK(taken.substr(taken.size() - 4) == "BBBB");
}

TEST_CASE("trials start again when the number of entries changes by a third, and at times") {
  Shape shape{{kA, kB}, {{kA, 1000}, {kB, 1500}}};
  shape.calls(20);
  shape.entries = 1300;
  CHECK(shape.calls(4) == "AAAA");
  shape.entries = 1400;
  CHECK(shape.calls(10) == "ABABABABAB");
  shape.entries = 1000;
  CHECK(shape.calls(10) == "ABABABABAB");
  CHECK(shape.calls(54) == std::string(54, 'A'));
  CHECK(shape.calls(10) == "ABABABABAB");
  CHECK(shape.calls(1014) == std::string(1014, 'A'));
  CHECK(shape.calls(10) == "ABABABABAB");
}

TEST_CASE("ranks with different times of their own have the same words") {
  Trials one, other;
  const size_t candidates[] = {kA, kB};
  for (int call = 0; call < 10; ++call) {
    if (one.own()) {
      CHECK(one.words() == other.words());
      for (Trials* const each : {&one, &other}) each->agree(100);
    }
    CHECK(one.next(candidates, 0) == other.next(candidates, 0));
    CHECK(one.own().has_value() == other.own().has_value());
    one.set_own(50);
    other.set_own(150);
    CHECK(one.words() == other.words());
  }
  const auto before = one.words();
  one.next(candidates, 0);
  CHECK(one.words() != before);
}

}  // namespace
}  // namespace sparsecoll::unit
