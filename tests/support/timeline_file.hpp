// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sparsecoll::test {

/// A recorded span, in microseconds.
struct RecordedSpan {
  std::string name;
  std::string lane;
  double begin = 0;
  double end = 0;
  nlohmann::json facts;

  std::uint64_t call() const { return facts.at("call"); }
  std::uint64_t bytes() const { return facts.value("bytes", std::uint64_t{0}); }
  bool within(const RecordedSpan& outer, double tolerance = 0.01) const {
    return begin >= outer.begin - tolerance && end <= outer.end + tolerance;
  }
};

/// A timeline file, as SPARSECOLL_TIMELINE asks for. The constructor throws if the file is not
/// valid.
class TimelineFile {
 public:
  explicit TimelineFile(const std::string& path) {
    std::ifstream file(path);
    json_ = nlohmann::json::parse(file);
    std::map<int, std::string> lanes;
    std::map<std::string, RecordedSpan> under_way;
    for (const nlohmann::json& event : json_.at("traceEvents")) {
      const std::string kind = event.at("ph");
      if (kind == "M") {
        (event.at("name") == "process_name" ? process_ : lanes[event.at("tid")]) =
            event.at("args").at("name");
        continue;
      }
      const double at = event.at("ts");
      RecordedSpan span{event.at("name"), lanes.at(event.at("tid")), at, at, {}};
      if (kind != "e") span.facts = event.at("args");
      if (kind == "X") span.end += event.at("dur").get<double>();
      if (kind == "b") {
        under_way[event.at("id2").at("local")] = std::move(span);
      } else if (kind == "e") {
        const auto found = under_way.find(event.at("id2").at("local").get<std::string>());
        span.begin = found->second.begin;
        span.facts = found->second.facts;
        spans_.push_back(std::move(span));
        under_way.erase(found);
      } else {
        spans_.push_back(std::move(span));
      }
    }
  }

  const nlohmann::json& about() const { return json_.at("otherData"); }
  const std::string& process() const { return process_; }
  const std::vector<RecordedSpan>& spans() const { return spans_; }
  /// Returns the spans of one call in one lane.
  std::vector<RecordedSpan> in(const std::string& lane, std::uint64_t call) const {
    std::vector<RecordedSpan> found;
    for (const RecordedSpan& span : spans_)
      if (span.lane == lane && span.call() == call) found.push_back(span);
    return found;
  }
  /// Returns the span of a whole call, which is the longest one of the host.
  RecordedSpan call(std::uint64_t number) const {
    RecordedSpan longest;
    for (const RecordedSpan& span : in("host", number))
      if (span.end - span.begin >= longest.end - longest.begin) longest = span;
    return longest;
  }
  std::uint64_t bytes(const std::string& lane, std::uint64_t call) const {
    std::uint64_t sum = 0;
    for (const RecordedSpan& span : in(lane, call)) sum += span.bytes();
    return sum;
  }

 private:
  nlohmann::json json_;
  std::string process_;
  std::vector<RecordedSpan> spans_;
};

}  // namespace sparsecoll::test
