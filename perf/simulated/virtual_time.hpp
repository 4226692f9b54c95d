// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <semaphore>
#include <set>
#include <utility>
#include <vector>

namespace sparsecoll::perf {

/// The virtual time of ranks that are threads, as in an event-driven simulation.
///
/// One rank runs at a time. Each rank has a clock, which advances by the processor time that the
/// rank uses and by what it is charged for, in seconds. Before a rank touches state that ranks
/// share, it lets all ranks run whose clocks are behind its own. Hence events happen in the order
/// of virtual time.
class VirtualTime {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// `scale`: seconds of virtual time for each second of processor time that a rank uses; 0: none.
  VirtualTime(int ranks, double scale);

  // --- called by a rank's own thread
  /// Waits until the rank may run. Every rank must call it first.
  void start(int rank);
  /// Ends the rank's part of the simulation.
  void finish(int rank);
  /// Returns the rank's clock.
  double now(int rank);
  /// Advances the rank's clock.
  void advance(int rank, double seconds);
  /// Waits until no rank that can run is behind by more than `slack` seconds. Returns the clock.
  double let_others_catch_up(int rank, double slack);
  /// Lets the other ranks run until the given time, or until wake() is called for this rank. Ends
  /// the program if no rank can run.
  void sleep(int rank, double until);
  /// Waits for all ranks. Their clocks are equal afterwards: the latest one.
  void barrier(int rank);
  /// Runs `work`, which touches nothing that ranks share and takes no time, and then does what
  /// barrier() does. Every rank calls it; they run at the same time, one on each processor.
  void prepare(int rank, const std::function<void()>& work);

  // --- called by the thread that runs
  /// Makes a sleeping rank continue at the given time at the latest.
  void wake(int rank, double at);

 private:
  /// Lets a thread wait until it may run. It sleeps at once: a semaphore of the standard library
  /// first yields the processor a few times, which costs more than the rest of a switch of ranks.
  class Turn {
   public:
    void give() {
      {
        const std::lock_guard lock(mutex_);
        given_ = true;
      }
      changed_.notify_one();
    }
    void take() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return given_; });
      given_ = false;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool given_ = false;
  };
  struct State {
    double clock = 0;
    double until = kNever;
    double computed = 0;  ///< the thread's processor time that the clock contains
    bool sleeps = false;
    bool ended = false;
    Turn turn;
  };
  State& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  /// Charges the rank for the thread's processor time from now on.
  void resume(int rank);
  void release_barrier();
  /// Adds the processor time since the last charge to the clock.
  void charge(int rank);
  /// Lets the rank run whose clock is furthest behind.
  void run_next();
  void wait_to_run(int rank);

  std::deque<State> states_;
  std::set<std::pair<double, int>> waiting_;  ///< the time and number of each rank that can run
  const double scale_;
  int active_;  ///< ranks that have not finished
  int at_barrier_ = 0;
  int at_work_ = 0;             ///< ranks that have called prepare()
  std::atomic<int> worked_{0};  ///< ranks whose work is done
  std::counting_semaphore<> processors_;
};

}  // namespace sparsecoll::perf
