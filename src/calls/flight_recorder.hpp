// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "calls/descriptor.hpp"
#include "core/deadline.hpp"
#include "core/error.hpp"
#include "core/stats.hpp"

namespace sparsecoll {

/// Records the last calls of one rank: how far each call came and for which ranks it waited. It is
/// read when a rank is missing. It is always on, so a call costs only a few stores, and no reading
/// of a clock.
///
/// One thread at a time writes; any thread may read meanwhile. There are no locks, because a reader
/// may come while the writer hangs.
class FlightRecorder {
 public:
  static constexpr size_t kCalls = 256;
  static constexpr size_t kPeers = 8;  ///< the peers of a wait that are kept by number

  /// A recorded call.
  struct Call {
    uint64_t sequence = 0;
    uint64_t verb = 0;
    std::array<uint64_t, 3> arguments{};  ///< the first arguments of the call's descriptor
    int algorithm = 0;                    ///< known at the end of the call
    Stage stage = Stage::begun;           ///< the last stage that the call has reached
    bool ended = false;
    sparsecollResult_t result = sparsecollSuccess;  ///< the result of a call that has ended
    Clock::time_point begin, end;   ///< `end`: end of the last phase; while the call runs, time of
                                    ///< its last event
    bool waits = false;             ///< the call waits now for messages of `peers`
    std::vector<int> peers;         ///< the first kPeers peers of the call's last wait
    size_t all_peers = 0;           ///< number of peers of the last wait; 0: the call has not
                                    ///< waited
    Clock::time_point waits_since;  ///< the beginning of the phase with the last wait
  };

  FlightRecorder() : records_(std::make_unique<Record[]>(kCalls)) {}

  // --- For the thread that is inside the communicator
  /// Begins the record of a call, in place of the oldest one. Returns the Progress to which the
  /// call's phases write.
  Progress* begin(uint64_t sequence, const Descriptor& call, Clock::time_point time) noexcept;
  /// Ends the record of the call. The end of the call's last phase becomes the call's end.
  void end(int algorithm) noexcept { end(algorithm, sparsecollSuccess); }
  /// Ends the record of a call that has failed now.
  void fail(int algorithm, sparsecollResult_t result) noexcept;

  /// Records a wait of the running call, until the end of the scope.
  class Wait {
   public:
    /// `recorder` may be null: nothing is recorded.
    explicit Wait(FlightRecorder* recorder) : recorder_(recorder) {}
    ~Wait() {
      if (waits_) recorder_->end_wait();
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    /// Records that the call is about to wait for these peers. Later calls pass the same peers, or
    /// fewer.
    void wait_for(std::span<const int> peers) noexcept {
      if (!recorder_ || (waits_ && peers.size() == recorded_)) return;
      if (!waits_) recorder_->begin_wait();
      recorder_->set_peers(peers);
      waits_ = true;
      recorded_ = peers.size();
    }

   private:
    FlightRecorder* recorder_;
    bool waits_ = false;
    size_t recorded_ = 0;  ///< number of recorded peers
  };

  // --- For any thread
  /// Returns the recorded calls, the oldest one first. Leaves out one that begins meanwhile.
  std::vector<Call> calls() const;

 private:
  /// A reader that sees a member's new value also sees the `version` under which it was stored, or
  /// a later one: stores of members release, and loads acquire.
  struct alignas(64) Record {
    std::atomic<uint64_t> version{0};  ///< odd while the record changes; 0: the record is empty
    std::atomic<uint64_t> sequence{0}, verb{0};
    std::array<std::atomic<uint64_t>, 3> arguments{};
    std::atomic<Clock::rep> begin{0}, waits_since{0};
    std::atomic<int> algorithm{0}, result{0};
    std::atomic<bool> ended{false}, waits{false};
    std::atomic<uint32_t> all_peers{0};
    std::array<std::atomic<int>, kPeers> peers{};
    Progress progress;
  };

  /// Changes a record as a whole.
  template <class Change>
  static void change(Record& record, Change change) noexcept;
  static Call read(const Record& record);

  void end(int algorithm, sparsecollResult_t result) noexcept;
  void begin_wait() noexcept;
  void set_peers(std::span<const int> peers) noexcept;
  void end_wait() noexcept;
  Record& current() { return records_[(begun_.load(std::memory_order_relaxed) - 1) % kCalls]; }

  const std::unique_ptr<Record[]> records_;
  std::atomic<uint64_t> begun_{0};  ///< number of calls
};

}  // namespace sparsecoll
