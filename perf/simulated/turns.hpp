// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <limits>
#include <semaphore>
#include <set>
#include <utility>
#include <vector>

namespace sparsecoll::perf {

/// Virtual time of ranks that are threads. One of them runs at a time; whoever touches what they
/// share first lets all run that are behind, so that everything happens in the order of virtual
/// time, as in an event-driven simulation. A rank's clock advances by what it is charged for.
class Turns {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// `scale`: seconds of virtual time for each second that a rank computes; 0: none.
  Turns(int ranks, double scale);

  // --- by a rank's own thread
  /// Waits for the first turn. All ranks begin.
  void begin(int rank);
  /// The rank does not run any more.
  void end(int rank);
  /// Its clock, charged with what it has computed.
  double now(int rank);
  void pass(int rank, double seconds);
  /// Returns when nobody is further behind than `slack`; its clock then, which goes on.
  double catch_up(int rank, double slack);
  /// Lets the others run until that time, or until woken. Ends the program when nobody can.
  void sleep(int rank, double until);
  /// All ranks; their clocks are equal afterwards.
  void meet(int rank);

  // --- by whoever runs
  /// A rank that sleeps goes on at that time at the latest.
  void wake(int rank, double at);

 private:
  struct State {
    explicit State() : turn(0) {}
    double clock = 0;
    double until = kNever;
    double computed = 0;  ///< processor time of its thread that was charged already
    bool sleeps = false;
    bool ended = false;
    std::binary_semaphore turn;
  };
  State& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  /// From here on the thread's processor time is the rank's.
  void resume(int rank);
  void release_barrier();
  void charge(int rank);
  void hand_over();
  void wait_for_turn(int rank);

  std::deque<State> states_;
  std::set<std::pair<double, int>> waiting_;  ///< those that can run, by when
  const double scale_;
  int begun_ = 0;
  int left_;
  int met_ = 0;
};

}  // namespace sparsecoll::perf
