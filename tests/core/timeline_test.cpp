// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of timelines: the contents of the file, its name, and the overflow of the ring.

#include "core/timeline.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/stats.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/timeline_file.hpp"

namespace sparsecoll::unit {
namespace {

using test::Folder;
using test::RecordedSpan;
using test::TimelineFile;
using Lane = Timeline::Lane;

constexpr Timeline::Owner kOwner{2, 4, 2, 3};

TimelineFile written(const Timeline& timeline, const Timeline::Owner& owner = kOwner) {
  const Folder folder;
  timeline.write(folder.file("timeline"), owner);
  return TimelineFile(folder.file("timeline"));
}

Clock::time_point at(int64_t nanoseconds) {
  return Clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

TEST_CASE("a timeline is written as JSON that names its owner") {
  Timeline timeline;
  timeline.add({"exchange", Lane::host, 7, at(1'234'567), at(2'000'001), {}});
  timeline.add({"message",
                Lane::send,
                7,
                at(1'300'000),
                at(1'400'000),
                {{{"peer", 3}, {"bytes", 4096}, {"kind", 0, "data"}}}});
  timeline.add({"message", Lane::receive, 7, at(5000), at(5000), {}});
  const TimelineFile file = written(timeline);
  CHECK(file.process() == "rank 2 of 4, communicator 3");
  CHECK(file.about().at("rank") == 2);
  CHECK(file.about().at("ranks") == 4);
  CHECK(file.about().at("communicator") == 3);
  CHECK(file.about().at("process") == getpid());
  CHECK(file.about().at("lost") == 0);
  REQUIRE(file.spans().size() == 3);
  const RecordedSpan exchange = file.in("host", 7).at(0);
  CHECK(exchange.name == "exchange");
  CHECK(exchange.begin == Approx(1234.567));
  CHECK(exchange.end == Approx(2000.001));
  const RecordedSpan message = file.in("send", 7).at(0);
  CHECK(message.begin == Approx(1300));
  CHECK(message.end == Approx(1400));
  CHECK(message.facts ==
        nlohmann::json{{"call", 7}, {"peer", 3}, {"bytes", 4096}, {"kind", "data"}});
  CHECK(file.in("receive", 7).at(0).begin == Approx(5));
}

TEST_CASE("sent messages that overlap are in different lanes") {
  Timeline timeline;
  const auto send = [&](int64_t begin, int64_t end) {
    timeline.add({"message", Lane::send, 1, at(begin), at(end), {}});
  };
  send(20, 30);  // added in the order of their ends
  send(10, 40);
  send(30, 50);
  send(25, 60);
  std::map<double, int> threads;  // by begin, in nanoseconds
  const TimelineFile file = written(timeline);
  for (const RecordedSpan& span : file.in("send", 1)) threads[span.begin * 1e3] = span.thread;
  REQUIRE(threads.size() == 4);
  CHECK(threads[10] == kOwner.ranks + static_cast<int>(Lane::send));
  CHECK(threads[20] == threads[30]);
  CHECK(std::set{threads[10], threads[20], threads[25]}.size() == 3);
  for (const auto& [begin, thread] : threads) CHECK(thread >= kOwner.ranks);
}

TEST_CASE("a message is a flow with the same id in the files of both ranks") {
  const auto add = [](Timeline& timeline, const char* name, Lane lane, int64_t time, uint64_t peer,
                      uint64_t number) {
    timeline.add({name,
                  lane,
                  1,
                  at(time),
                  at(time + (lane == Lane::send ? 5 : 0)),
                  {{{Timeline::kPeer, peer}, {"bytes", 8}, {Timeline::kNumber, number}}}});
  };
  Timeline sender, receiver;
  add(sender, "message", Lane::send, 100, 3, 7);
  add(sender, "piece", Lane::send, 110, 3, 8);
  add(sender, "message", Lane::send, 115, 1, 8);
  add(sender, "piece", Lane::send, 120, 3, 8);
  add(receiver, "message", Lane::receive, 200, 2, 7);
  add(receiver, "message", Lane::receive, 210, 2, 8);
  const auto sent = written(sender, {2, 4, 2, 3}).flows();
  const auto received = written(receiver, {3, 4, 3, 3}).flows();
  REQUIRE(sent.size() == 4);
  REQUIRE(received.size() == 2);
  CHECK(sent[0].part + sent[1].part + sent[2].part + sent[3].part == "ssst");
  CHECK(received[0].part + received[1].part == "ff");
  CHECK(received[0].id == sent[0].id);
  CHECK(received[1].id == sent[1].id);
  CHECK(sent[3].id == sent[1].id);
  CHECK(std::set{sent[0].id, sent[1].id, sent[2].id}.size() == 3);
  for (const auto& flows : {sent, received})
    for (const test::FlowEvent& flow : flows) {
      CHECK(flow.time == flow.span.begin);
      CHECK(flow.id.substr(0, 2) == "0x");  // Perfetto reads hexadecimal digits
    }
}

TEST_CASE("names are escaped") {
  Timeline timeline;
  timeline.add(
      {"a \"name\" \\ with\na line", Lane::device, 1, at(0), at(1), {{{"word", 0, "\t\""}}}});
  const TimelineFile file = written(timeline);
  CHECK(file.spans().at(0).name == "a \"name\" \\ with\na line");
  CHECK(file.spans().at(0).facts.at("word") == "\t\"");
}

TEST_CASE("the latest spans are kept, and the number of lost spans is written") {
  Timeline timeline(8);
  for (int64_t i = 0; i < 20; ++i) timeline.add({"span", Lane::host, 1, at(i), at(i + 1), {}});
  CHECK(timeline.lost() == 12);
  const TimelineFile file = written(timeline);
  CHECK(file.about().at("lost") == 12);
  REQUIRE(file.spans().size() == 8);
  CHECK(file.spans().front().begin == Approx(0.012));
  CHECK(file.spans().back().begin == Approx(0.019));
}

TEST_CASE("phases are recorded with the statistics, and are nested") {
  Timeline timeline;
  Stats stats;
  {
    const Stopwatch watch(stats, Phase::select);  // not recorded
  }
  stats.timeline = &timeline;
  timeline.begin_call(5);
  {
    const Stopwatch outer(stats, Phase::exchange);
    const Timeline::Scope inner(&timeline, "wait");
    const Timeline::Scope none(nullptr, "nowhere");
  }
  const TimelineFile file = written(timeline);
  REQUIRE(file.spans().size() == 2);
  CHECK(file.call(5).name == "exchange");
  CHECK(file.spans().at(0).name == "wait");
  CHECK(file.spans().at(0).within(file.spans().at(1)));
  CHECK((file.call(5).end - file.call(5).begin) * 1e-6 ==
        Approx(stats.in(Phase::exchange)).margin(2e-9));
}

std::vector<std::string>& shown() {
  static std::vector<std::string> all;
  return all;
}

TEST_CASE("a profiler is shown the phases, which may overlap") {
  const Profiler profiler{[](const char* name) -> uint64_t {
                            shown().push_back(text("begin ", name));
                            return shown().size();
                          },
                          [](uint64_t range) { shown().push_back(text("end ", range)); }};
  Stats stats, other;
  { const Stopwatch hidden(stats, Phase::pack); }
  CHECK(shown().empty());
  stats.profiler = other.profiler = &profiler;
  {
    std::optional<Stopwatch> first(std::in_place, stats, Phase::select);
    const Stopwatch second(other, Phase::exchange);
    first.reset();
  }
  CHECK(shown() == std::vector<std::string>{"begin select", "begin exchange", "end 1", "end 2"});
}

TEST_CASE("every communicator and rank has a file name of its own") {
  const auto name = [](const char* pattern, uint64_t number) {
    return Timeline::file_name(pattern, {0, 4, 2, number});
  };
  const std::string process = std::to_string(getpid());
  CHECK(name("a/t.%r.json", 1) == "a/t.2.json");
  CHECK(name("a/t.%r.json", 3) == "a/t.2.3.json");
  CHECK(name("%c-%r-%r.%p", 3) == "3-2-2." + process);
  CHECK(name("t.json", 1) == "t.2.json");
  CHECK(name("t.json", 3) == "t.2.3.json");
  CHECK(name("a.b/t", 1) == "a.b/t.2");
  CHECK(name("a.b/.t", 1) == "a.b/.t.2");
  CHECK(name("%x", 1) == "%x.2");
}

TEST_CASE("a file that cannot be written is an error with a reason") {
  const Timeline timeline;
  const Folder folder;
  const auto refused = [&](const std::string& file) {
    try {
      timeline.write(file, kOwner);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(folder.file("none/t")).find("cannot open '" + folder.file("none/t")) == 0);
  CHECK(refused("/dev/full") == "cannot write '/dev/full': not a regular file");
  const std::string pipe = folder.file("pipe");  // opening it would block
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refused(pipe) == "cannot write '" + pipe + "': not a regular file");
  const std::string link = folder.file("link"), file = folder.file("file");
  std::ofstream(file) << "mine";
  std::filesystem::create_symlink(file, link);
  CHECK(refused(link) == "cannot write '" + link + "': not a regular file");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(folder.files() == 3);
}

TEST_CASE("what a killed process left beside a timeline is removed") {
  const Folder folder;
  const std::string file = folder.file("timeline");
  std::ofstream(file + ".sparsecoll-part") << "half of it";
  Timeline().write(file, kOwner);
  CHECK_NOTHROW(TimelineFile(file));
  CHECK(folder.files() == 1);
}

TEST_CASE("an existing file is replaced only by a complete one") {
  const Folder folder;
  const std::string file = folder.file("timeline");
  Timeline timeline;
  timeline.write(file, kOwner);
  std::ofstream(file, std::ios::app) << "more";
  std::ifstream reader(file);  // reads the old file
  timeline.write(file, kOwner);
  const std::string old{std::istreambuf_iterator<char>(reader), {}};
  REQUIRE(old.size() > 4);
  CHECK(old.substr(old.size() - 4) == "more");
  CHECK_NOTHROW(TimelineFile(file));
  CHECK(folder.files() == 1);
}

}  // namespace
}  // namespace sparsecoll::unit
