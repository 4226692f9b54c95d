// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of timelines: the contents of the file, its name, and the overflow of the ring.

#include "core/timeline.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

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

TimelineFile written(const Timeline& timeline) {
  const Folder folder;
  timeline.write(folder.file("timeline"), kOwner);
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
