// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "core/timeline.hpp"

namespace sparsecoll {

class Transport;

/// Records the messages of a channel in a timeline: a sent message, or chunk of one, from its start
/// until it is known to have left, and a received message at the time of its arrival.
class MessageTrace {
 public:
  struct TracedMessage {
    const char* name;
    int peer;
    uint64_t call;
    uint64_t number;  ///< among the messages of the sender to the receiver
    size_t bytes;
  };

  MessageTrace(Timeline& timeline, Transport& transport);

  /// The scope in which a message is passed to the transport.
  class Send {
   public:
    /// `trace` may be null: nothing is recorded.
    Send(MessageTrace* trace, const TracedMessage& message) : trace_(trace), message_(message) {
      if (trace_) begin_ = Clock::now();
    }
    ~Send() {
      if (trace_) trace_->follow(message_, begin_);
    }
    Send(const Send&) = delete;
    Send& operator=(const Send&) = delete;

   private:
    MessageTrace* trace_;
    const TracedMessage message_;
    Clock::time_point begin_;
  };

  /// Records a received message.
  void record_arrival(const TracedMessage& message) noexcept;
  /// Records the messages that have left since the last poll.
  void poll() noexcept;

 private:
  struct PendingSend {
    TracedMessage message;
    Clock::time_point begin;
  };

  /// Begins to follow a message that the transport has taken.
  void follow(const TracedMessage& message, Clock::time_point begin) noexcept;
  /// Finds the messages that have left. A transport reports how many bytes to a peer have not left.
  /// It sends messages to one peer in order, so these bytes are those of the last messages.
  void find_left();
  void add(Timeline::Lane lane, const PendingSend& message, Clock::time_point end) noexcept;

  /// The bytes to a peer that have not left, without those of the messages that a poll has visited.
  struct Unsent {
    uint64_t poll = 0;  ///< the poll that has asked for them
    size_t bytes = 0;
  };

  Timeline& timeline_;
  Transport& transport_;
  std::deque<PendingSend> pending_;  ///< in the order in which they were sent
  std::vector<Unsent> unsent_;       ///< by peer
  uint64_t polls_ = 0;
};

}  // namespace sparsecoll
