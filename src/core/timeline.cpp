// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the file in Chrome's trace event format:
// https://perfetto.dev/docs/getting-started/other-formats
#include "core/timeline.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <span>

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

/// Returns the time by the system clock at which the steady clock was 0.
int64_t unix_time_of_zero() {
  const auto here = Clock::now().time_since_epoch();
  const auto there = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(there - here).count();
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

class Writer {
 public:
  /// Replaces the old file only when the new one is complete.
  Writer(const std::string& path, int rank)
      : file_(check_replaceable(path)), rank_(std::to_string(rank)) {
    put("{\"traceEvents\":[\n");
  }
  /// Writes the name of the process of this file, or of one of its lanes.
  void name(const char* what, int lane, const std::string& name) {
    event("\"ph\":\"M\",\"name\":" + quoted(what) + ",\"args\":{\"name\":" + quoted(name) + "}",
          lane);
  }
  void add(const Timeline::SpanRecord& entry) {
    const std::string begin = ",\"ts\":" + microseconds(entry.begin.time_since_epoch());
    const std::string what = "\"name\":" + quoted(entry.name) + ",\"args\":" + facts_of(entry);
    const int lane = static_cast<int>(entry.lane);
    if (entry.lane == Timeline::Lane::receive) {
      event("\"ph\":\"i\",\"s\":\"t\"," + what + begin, lane);
    } else if (entry.lane == Timeline::Lane::send) {
      // Spans of one lane may overlap if they have numbers.
      const std::string both = ",\"cat\":\"send\",\"id2\":{\"local\":\"" +
                               std::to_string(++sends_) + "\"},\"name\":" + quoted(entry.name);
      event("\"ph\":\"b\",\"args\":" + facts_of(entry) + both + begin, lane);
      event("\"ph\":\"e\"" + both + ",\"ts\":" + microseconds(entry.end.time_since_epoch()), lane);
    } else {
      event("\"ph\":\"X\"," + what + begin + ",\"dur\":" + microseconds(entry.end - entry.begin),
            lane);
    }
  }
  void end(const Timeline::Owner& owner, size_t lost) {
    put(text("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"rank\":", rank_, ",\"ranks\":",
             std::to_string(owner.ranks), ",\"communicator\":", std::to_string(owner.number),
             ",\"process\":", std::to_string(getpid()), ",\"unixTimeOfZero\":",
             std::to_string(unix_time_of_zero()), ",\"lost\":", std::to_string(lost), "}}\n"));
    flush();
    file_.replace();
  }

 private:
  void event(const std::string& rest, int lane) {
    put(first_ ? "{" : ",\n{");
    first_ = false;
    put("\"pid\":" + rank_ + ",\"tid\":" + std::to_string(lane) + "," + rest + "}");
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
  const std::string rank_;
  std::string buffer_;
  bool first_ = true;
  size_t sends_ = 0;
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
  Writer writer(file, owner.rank);
  writer.name("process_name", 0,
              text("rank ", std::to_string(owner.rank), " of ", std::to_string(owner.ranks),
                   ", communicator ", std::to_string(owner.number)));
  for (const auto& [lane, name] : kLanes) writer.name("thread_name", static_cast<int>(lane), name);
  for (size_t i = lost(); i < added_; ++i) writer.add(records_[i % records_.size()]);
  writer.end(owner, lost());
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
