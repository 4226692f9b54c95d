// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sparsecoll::test {

/// A recorded span, in microseconds.
struct RecordedSpan {
  std::string name;
  std::string lane;
  int thread = 0;
  double begin = 0;
  double end = 0;
  nlohmann::json facts;

  std::uint64_t call() const { return facts.at("call"); }
  std::uint64_t bytes() const { return facts.value("bytes", std::uint64_t{0}); }
  bool within(const RecordedSpan& outer, double tolerance = 0.01) const {
    return begin >= outer.begin - tolerance && end <= outer.end + tolerance;
  }
};

/// An event of a flow.
struct FlowEvent {
  std::string part;  ///< "s", "t" or "f"
  std::string id;
  RecordedSpan span;  ///< in front of it in the file
  double time = 0;
};

/// A timeline file, as SPARSECOLL_TIMELINE asks for. The constructor throws if the file is not
/// valid.
class TimelineFile {
 public:
  explicit TimelineFile(const std::string& path) {
    std::ifstream file(path);
    json_ = nlohmann::json::parse(file);
    std::map<int, std::string> lanes;
    for (const nlohmann::json& event : json_.at("traceEvents")) {
      const std::string kind = event.at("ph"), name = event.at("name");
      if (name == "process_name") process_ = event.at("args").at("name");
      if (name == "thread_name") lanes[event.at("tid")] = event.at("args").at("name");
      if (kind == "M") continue;
      const double at = event.at("ts");
      if (kind == "X")
        spans_.push_back({name, lanes.at(event.at("tid")), event.at("tid"), at,
                          at + event.at("dur").get<double>(), event.at("args")});
      else
        flows_.push_back({kind, event.at("id"), spans_.back(), at});
    }
  }

  const nlohmann::json& about() const { return json_.at("otherData"); }
  const std::string& process() const { return process_; }
  const std::vector<RecordedSpan>& spans() const { return spans_; }
  const std::vector<FlowEvent>& flows() const { return flows_; }
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
  std::vector<FlowEvent> flows_;
};

}  // namespace sparsecoll::test
