// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/deadline.hpp"

namespace sparsecoll {

/// The latest spans of one communicator, if SPARSECOLL_TIMELINE asks for them, in memory that is
/// allocated beforehand. Writes them to a file that Perfetto opens. One thread at a time may
/// use it.
class Timeline {
 public:
  /// The lanes. In the lane of the host spans are nested, and also in that of a device. Spans of
  /// sent messages overlap, so that the file may have several lanes for them. Received messages are
  /// points in time.
  enum class Lane : int { host = 1, send, receive, device, exchange };

  /// A property of a span: a number or a word. Names and words outlive the timeline.
  struct Fact {
    const char* name = nullptr;
    uint64_t number = 0;
    const char* word = nullptr;
  };
  /// The facts by which the file connects a sent message, or its pieces, with its arrival: the
  /// peer, and the message's number among those of its sender to its receiver.
  static constexpr const char* kPeer = "peer";
  static constexpr const char* kNumber = "number";

  struct SpanRecord {
    const char* name = "";
    Lane lane = Lane::host;
    uint64_t call = 0;  ///< number of the call
    Clock::time_point begin = {}, end = {};
    std::array<Fact, 3> facts = {};
  };

  /// Identifies the communicator and the rank whose timeline is written.
  struct Owner {
    int rank;
    int ranks;
    int world_rank;   ///< identifies this process among those that may write to the same folder
    uint64_t number;  ///< number of the communicator in its process; the same for all ranks of
                      ///< sparsecollCommInitAll
  };

  static constexpr size_t kRoom = size_t{1} << 16;

  explicit Timeline(size_t room = kRoom) : records_(room) {}

  /// Assigns the spans that are added from now on to this call.
  void begin_call(uint64_t number) { call_ = number; }
  uint64_t call() const { return call_; }
  /// Adds a span. Drops the oldest one if there is no room.
  void add(const SpanRecord& entry) noexcept { records_[added_++ % records_.size()] = entry; }
  size_t lost() const { return added_ > records_.size() ? added_ - records_.size() : 0; }

  /// Writes the file. Throws SystemError if that fails.
  void write(const std::string& file, const Owner& owner) const;

  /// Returns the name of the owner's file: `pattern` with %r, %c and %p replaced by world_rank,
  /// number and process. Without %r the rank is inserted in front of the extension; without %c so
  /// is the number, from the second communicator on.
  static std::string file_name(const std::string& pattern, const Owner& owner);

  /// Adds a span that lasts until the end of its scope.
  class Scope {
   public:
    /// `timeline` may be null: nothing is recorded.
    Scope(Timeline* timeline, const char* name) : timeline_(timeline), name_(name) {
      if (timeline_) begin_ = Clock::now();
    }
    ~Scope() {
      if (timeline_)
        timeline_->add({name_, Lane::host, timeline_->call(), begin_, Clock::now(), {}});
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Timeline* timeline_;
    const char* name_;
    Clock::time_point begin_;
  };

 private:
  std::vector<SpanRecord> records_;  ///< a ring buffer
  size_t added_ = 0;
  uint64_t call_ = 0;
};

}  // namespace sparsecoll
