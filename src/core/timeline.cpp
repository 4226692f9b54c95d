// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the file in Chrome's trace event format:
// https://perfetto.dev/docs/getting-started/other-formats
#include "core/timeline.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/file.hpp"

namespace sparsecoll {

namespace {

struct LaneName {
  Timeline::Lane lane;
  const char* name;
};
constexpr LaneName kLanes[] = {{Timeline::Lane::host, "host"},
                               {Timeline::Lane::send, "send"},
                               {Timeline::Lane::receive, "receive"},
                               {Timeline::Lane::device, "device"},
                               {Timeline::Lane::exchange, "exchange on the device"}};

/// A span and its row in its lane.
struct PlacedSpan {
  const Timeline::SpanRecord* span;
  size_t row;
};

/// Places each span in the first row in which it overlaps no other span. Returns the spans in the
/// order of their begin.
std::vector<PlacedSpan> in_rows(std::vector<const Timeline::SpanRecord*> spans) {
  std::ranges::stable_sort(spans, {}, [](const Timeline::SpanRecord* span) { return span->begin; });
  std::vector<PlacedSpan> placed;
  std::vector<Clock::time_point> ends;  // by row
  for (const Timeline::SpanRecord* span : spans) {
    const auto free = std::ranges::find_if(ends, [&](auto end) { return end <= span->begin; });
    const auto row = static_cast<size_t>(free - ends.begin());
    if (row == ends.size()) ends.emplace_back();
    ends[row] = span->end;
    placed.push_back({span, row});
  }
  return placed;
}

/// Returns a string of JSON.
std::string quoted(const std::string& plain) {
  std::string json = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      json += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", c);
    json += code;
  }
  return json += '"';
}

/// Returns microseconds with three decimals, independent of the locale.
std::string microseconds(Clock::duration time) {
  const int64_t all = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  char digits[32];
  std::snprintf(digits, sizeof digits, "%" PRId64 ".%03d", all / 1000,
                static_cast<int>(all % 1000));
  return digits;
}

/// Returns the time by the system clock at which the steady clock was 0. Of a few readings it takes
/// the one that took least time: the thread may be interrupted between the clocks.
int64_t unix_time_of_zero() {
  constexpr int kReadings = 5;
  auto least = Clock::duration::max();
  std::chrono::system_clock::duration zero{};
  for (int i = 0; i < kReadings; ++i) {
    const auto before = Clock::now();
    const auto there = std::chrono::system_clock::now().time_since_epoch();
    const auto took = Clock::now() - before;
    if (took >= least) continue;
    least = took;
    zero = there - (before + took / 2).time_since_epoch();
  }
  return std::chrono::duration_cast<std::chrono::microseconds>(zero).count();
}

std::string facts_of(const Timeline::SpanRecord& entry) {
  std::string json = "{\"call\":" + std::to_string(entry.call);
  for (const Timeline::Fact& fact : entry.facts)
    if (fact.name) {
      const std::string value = fact.word ? quoted(fact.word) : std::to_string(fact.number);
      json.append(",").append(quoted(fact.name)).append(":").append(value);
    }
  return json + "}";
}

const std::string& check_replaceable(const std::string& path) {
  if (irreplaceable(path))
    fail(sparsecollSystemError, "cannot write '", path, "': not a regular file");
  return path;
}

/// Returns the number that a span has under this name.
uint64_t number_in(const Timeline::SpanRecord& entry, std::string_view name) {
  for (const Timeline::Fact& fact : entry.facts)
    if (fact.name && fact.name == name) return fact.number;
  return 0;
}

/// Writes the events of one rank. A message is a flow from the slice of its sender to that of its
/// receiver; its id is the same in the files of both. An event of a flow belongs to the slice in
/// front of it.
class Writer {
 public:
  /// Replaces the old file only when the new one is complete.
  Writer(const std::string& path, const Timeline::Owner& owner)
      : file_(check_replaceable(path)), owner_(owner) {
    put("{\"traceEvents\":[\n");
  }
  /// Names the process and its lanes, and orders them. There are `rows` lanes for sent messages.
  void name_lanes(size_t rows) {
    describe("process",
             text("rank ", owner_.rank, " of ", owner_.ranks, ", communicator ", owner_.number),
             {0, owner_.rank});
    for (const auto& [lane, name] : kLanes)
      for (size_t row = 0; row < (lane == Timeline::Lane::send ? rows : 1); ++row)
        describe("thread", name, {thread_of(lane, row), static_cast<int>(lane)});
  }
  void add(const Timeline::SpanRecord& entry, size_t row) {
    const size_t thread = thread_of(entry.lane, row);
    const std::string begin = ",\"ts\":" + microseconds(entry.begin.time_since_epoch());
    event("\"ph\":\"X\",\"name\":" + quoted(entry.name) + ",\"args\":" + facts_of(entry) + begin +
              ",\"dur\":" + microseconds(entry.end - entry.begin),
          thread);
    const auto rank = static_cast<uint64_t>(owner_.rank);
    const uint64_t peer = number_in(entry, Timeline::kPeer);
    const uint64_t number = number_in(entry, Timeline::kNumber);
    if (entry.lane == Timeline::Lane::send) {
      const auto [known, first] = sent_.try_emplace(peer, number);
      const bool begins = first || std::exchange(known->second, number) != number;
      flow(begins ? "\"s\"" : "\"t\"", {rank, peer, number}, begin, thread);
    } else if (entry.lane == Timeline::Lane::receive) {
      flow("\"f\",\"bp\":\"e\"", {peer, rank, number}, begin, thread);
    }
  }
  void end(size_t lost) {
    put(text("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"rank\":", owner_.rank, ",\"ranks\":",
             owner_.ranks, ",\"communicator\":", owner_.number, ",\"process\":", getpid(),
             ",\"unixTimeOfZero\":", unix_time_of_zero(), ",\"lost\":", lost, "}}\n"));
    flush();
    file_.replace();
  }

 private:
  struct ThreadOrder {
    size_t thread;
    int order;
  };
  struct Message {
    uint64_t sender;
    uint64_t receiver;
    uint64_t number;
  };

  /// Returns the number of a lane's thread. No rank has it: Perfetto takes a thread with the number
  /// of a process for its main thread.
  size_t thread_of(Timeline::Lane lane, size_t row) const {
    const auto number = static_cast<size_t>(owner_.ranks) + static_cast<size_t>(lane);
    return row == 0 ? number : number + std::size(kLanes) + row;
  }
  void describe(const std::string& what, const std::string& name, const ThreadOrder& where) {
    event(text("\"ph\":\"M\",\"name\":\"", what, "_name\",\"args\":{\"name\":", quoted(name), "}"),
          where.thread);
    event(text("\"ph\":\"M\",\"name\":\"", what,
               "_sort_index\",\"args\":{\"sort_index\":", where.order, "}"),
          where.thread);
  }
  /// Writes a part of a flow. Its id is unique among 2^24 messages from one rank to another.
  void flow(const char* part, const Message& message, const std::string& begin, size_t thread) {
    const uint64_t id = message.sender << 44 | message.receiver << 24 | (message.number & 0xffffff);
    char digits[24];
    std::snprintf(digits, sizeof digits, "\"0x%" PRIx64 "\"", id);
    event(text("\"ph\":", part, ",\"cat\":\"message\",\"name\":\"message\",\"id\":", digits, begin),
          thread);
  }
  void event(const std::string& rest, size_t thread) {
    put(first_ ? "{" : ",\n{");
    first_ = false;
    put(text("\"pid\":", owner_.rank, ",\"tid\":", thread, ",", rest, "}"));
  }
  void put(const std::string& bytes) {
    constexpr size_t kAtOnce = size_t{1} << 16;
    buffer_ += bytes;
    if (buffer_.size() >= kAtOnce) flush();
  }
  void flush() {
    file_.write(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }

  FileReplacement file_;
  const Timeline::Owner& owner_;
  std::string buffer_;
  bool first_ = true;
  std::map<uint64_t, uint64_t> sent_;  ///< the number of the last message, by peer
};

/// Replaces the first occurrence of `what`. Returns whether there was one.
bool replace(std::string& in, const std::string& what, const std::string& by) {
  bool found = false;
  for (size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += by.size()) {
    in.replace(at, what.size(), by);
    found = true;
  }
  return found;
}

void put_before_extension(std::string& path, const std::string& part) {
  const size_t name = path.rfind('/') + 1;  // 0 if there is no folder
  const size_t dot = path.rfind('.');
  path.insert(dot == std::string::npos || dot <= name ? path.size() : dot, "." + part);
}

}  // namespace

void Timeline::write(const std::string& file, const Owner& owner) const {
  std::vector<PlacedSpan> placed;
  std::vector<const SpanRecord*> sends;
  for (size_t i = lost(); i < added_; ++i) {
    const SpanRecord& entry = records_[i % records_.size()];
    if (entry.lane == Lane::send)
      sends.push_back(&entry);
    else
      placed.push_back({&entry, 0});
  }
  size_t rows = 1;
  for (const PlacedSpan& each : in_rows(std::move(sends))) {
    rows = std::max(rows, each.row + 1);
    placed.push_back(each);
  }
  Writer writer(file, owner);
  writer.name_lanes(rows);
  for (const auto& [span, row] : placed) writer.add(*span, row);
  writer.end(lost());
}

std::string Timeline::file_name(const std::string& pattern, const Owner& owner) {
  std::string name = pattern;
  replace(name, "%p", std::to_string(getpid()));
  if (const std::string rank = std::to_string(owner.world_rank); !replace(name, "%r", rank))
    put_before_extension(name, rank);
  if (const std::string number = std::to_string(owner.number);
      !replace(name, "%c", number) && owner.number > 1)
    put_before_extension(name, number);
  return name;
}

}  // namespace sparsecoll
