// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "core/timeline.hpp"

namespace sparsecoll {

class Transport;

/// Records messages of a channel: each that is sent, or part of one, from its start until its
/// sending is known to be complete, and the moments at which others have come.
class MessageTrace {
 public:
  struct Message {
    const char* name;
    int peer;
    uint64_t call;
    size_t bytes;
  };

  MessageTrace(Timeline& timeline, Transport& transport)
      : timeline_(timeline), transport_(transport) {}

  /// Lasts while a message is given to the transport.
  class Send {
   public:
    /// Null: nothing is recorded.
    Send(MessageTrace* trace, const Message& message) : trace_(trace), message_(message) {
      if (trace_) begin_ = Clock::now();
    }
    ~Send() {
      if (trace_) trace_->started(message_, begin_);
    }
    Send(const Send&) = delete;
    Send& operator=(const Send&) = delete;

   private:
    MessageTrace* trace_;
    const Message message_;
    Clock::time_point begin_;
  };

  void arrived(const Message& message) noexcept;
  /// Looks which messages have left. A transport tells how many bytes to a peer have not, and sends
  /// what goes to one peer in its order: the last of them have not.
  void look() noexcept;

 private:
  struct UnderWay {
    Message message;
    Clock::time_point begin;
  };

  void started(const Message& message, Clock::time_point begin) noexcept;
  void find_left();
  void add(Timeline::Lane lane, const UnderWay& message, Clock::time_point end) noexcept;

  Timeline& timeline_;
  Transport& transport_;
  std::deque<UnderWay> under_way_;  ///< in the order of their sending
};

}  // namespace sparsecoll
