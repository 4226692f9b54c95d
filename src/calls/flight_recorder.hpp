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

/// The last calls of one rank, to be read when a rank is missing: how far each call came and for
/// whom it waited. Always on, so a call costs a few stores and no clock of its own.
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
    std::array<uint64_t, 3> arguments{};  ///< the first ones of its descriptor
    int algorithm = 0;                    ///< known at its end
    Stage stage = Stage::begun;           ///< the last one that it reached
    bool ended = false;
    sparsecollResult_t result = sparsecollSuccess;  ///< if it has ended
    Clock::time_point begin, end;   ///< `end`: of its last phase; while it runs, the last event
    bool waits = false;             ///< it waits now for messages of these peers
    std::vector<int> peers;         ///< those of its last wait; the first kPeers of them
    size_t all_peers = 0;           ///< the number of these peers; 0: it never waited
    Clock::time_point waits_since;  ///< begin of the phase of its last wait
  };

  FlightRecorder() : records_(std::make_unique<Record[]>(kCalls)) {}

  // --- For the thread that is inside the communicator
  /// Begins the record of a call, in place of the oldest one. Returns what its phases write to.
  Progress* begin(uint64_t sequence, const Descriptor& call, Clock::time_point time) noexcept;
  /// Ends that record. The end of the call's last phase becomes its end.
  void end(int algorithm) noexcept { end(algorithm, sparsecollSuccess); }
  /// Ends the record of a call that has failed now.
  void fail(int algorithm, sparsecollResult_t result) noexcept;

  /// A wait of the call that runs, until the end of the scope.
  class Wait {
   public:
    /// `recorder` may be null: nothing is recorded.
    explicit Wait(FlightRecorder* recorder) : recorder_(recorder) {}
    ~Wait() {
      if (waits_) recorder_->end_wait();
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    /// Records that the call is about to wait for these peers. The next time they are the same, or
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
    size_t recorded_ = 0;  ///< number of the peers
  };

  // --- For any thread
  /// Returns the recorded calls, the oldest one first. Leaves out one that begins meanwhile.
  std::vector<Call> calls() const;

 private:
  /// Whoever sees a member that was stored while `version` was odd or after it, sees that version,
  /// too: stores of members release, and loads acquire.
  struct alignas(64) Record {
    std::atomic<uint64_t> version{0};  ///< odd while the record changes; 0: it is empty
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
