// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/deadline.hpp"

namespace sparsecoll {

/// What one communicator did when, where SPARSECOLL_TIMELINE asks for it: the latest spans, in
/// memory that is there before the first, and a file of them that Perfetto and chrome://tracing
/// open. One thread at a time.
class Timeline {
 public:
  /// Spans of the host lie within each other, and so do those of a device; messages that are sent
  /// overlap, and those that come are moments.
  enum class Lane : int { host = 1, send, receive, device, exchange };

  /// Something that is known of a span: a number, or a word. Names and words outlive the timeline.
  struct Fact {
    const char* name = nullptr;
    uint64_t number = 0;
    const char* word = nullptr;
  };
  struct Entry {
    const char* name = "";
    Lane lane = Lane::host;
    uint64_t call = 0;  ///< its number
    Clock::time_point begin = {}, end = {};
    std::array<Fact, 3> facts = {};
  };

  /// Whose it is.
  struct Owner {
    int rank;
    int ranks;
    int world_rank;  ///< the rank by which no other process is known that may write to its folder
    uint64_t
        number;  ///< of the communicator in its process; one for all ranks of sparsecollCommInitAll
  };

  static constexpr size_t kRoom = size_t{1} << 16;

  explicit Timeline(size_t room = kRoom) : entries_(room) {}

  /// What is added from now on is of that call.
  void begin_call(uint64_t number) { call_ = number; }
  uint64_t call() const { return call_; }
  /// Where there is no room, the oldest goes.
  void add(const Entry& entry) noexcept { entries_[added_++ % entries_.size()] = entry; }
  size_t lost() const { return added_ > entries_.size() ? added_ - entries_.size() : 0; }

  /// Throws SystemError where it cannot be written.
  void write(const std::string& file, const Owner& owner) const;

  /// The owner's file: `pattern` with its %r, %c and %p replaced by world_rank, number and
  /// process. Where it has no %r the rank is put in front of the extension, where it has no %c the
  /// number, from the second on.
  static std::string file_name(const std::string& pattern, const Owner& owner);

  /// Adds the time until it goes out of scope.
  class Span {
   public:
    /// Null: nothing is recorded.
    Span(Timeline* timeline, const char* name) : timeline_(timeline), name_(name) {
      if (timeline_) begin_ = Clock::now();
    }
    ~Span() {
      if (timeline_)
        timeline_->add({name_, Lane::host, timeline_->call(), begin_, Clock::now(), {}});
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Timeline* timeline_;
    const char* name_;
    Clock::time_point begin_;
  };

 private:
  std::vector<Entry> entries_;  ///< a ring
  size_t added_ = 0;
  uint64_t call_ = 0;
};

}  // namespace sparsecoll
