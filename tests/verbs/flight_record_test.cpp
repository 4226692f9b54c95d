// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of flight records: what they say of calls, when they are written, and what
// tools/sparsecoll-blame makes of them.

#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "support/attempt.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kRecorder = "SPARSECOLL_FLIGHT_RECORDER";
constexpr const char* kSignal = "SPARSECOLL_FLIGHT_SIGNAL";
constexpr std::size_t kCount = 1000, kK = 10;

bool contains(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

Json read_record(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

/// The records in a folder, by rank.
std::map<int, Json> records_in(const Folder& folder) {
  std::map<int, Json> records;
  for (const auto& each : std::filesystem::directory_iterator(folder.file("")))
    if (each.path().extension() == ".json") {
      Json record = read_record(each.path().string());
      records.emplace(record.at("rank").get<int>(), std::move(record));
    }
  return records;
}

sparsecollResult_t call_of(const Mode& mode, sparsecollComm_t comm) {
  std::vector<float> x(kCount, 1.0f);
  return call_dense_verb<float>(mode.verb, {x.data(), x.data(), kCount, kK}, comm);
}

/// Returns what tools/sparsecoll-blame prints about all records of a folder.
std::string blame(const Folder& folder) {
  const std::string command = std::string(SPARSECOLL_BLAME) + " " + folder.file("*.json");
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string printed;
  for (char line[4096]; std::fgets(line, sizeof line, pipe);) printed += line;
  pclose(pipe);
  return printed;
}

/// Makes three calls, and a fourth without one rank. Returns what is wrong.
std::string miss_a_rank(const Ranks& ranks, const Mode& mode, int missing) {
  std::atomic<int> failed{0};
  return ranks.run("a missing rank", [&](int rank) -> std::string {
    for (int call = 0; call < 3; ++call) {
      const sparsecollResult_t result = call_of(mode, ranks.comm(rank));
      if (result != sparsecollSuccess) {
        ++failed;
        return explain(result, ranks.comm(rank));
      }
    }
    if (rank == missing) {
      while (failed < ranks.size() - 1) std::this_thread::sleep_for(milliseconds(1));
      return "";
    }
    const sparsecollResult_t result = call_of(mode, ranks.comm(rank));
    ++failed;
    return result == sparsecollTimeout || result == sparsecollRemoteError
               ? ""
               : explain(result, ranks.comm(rank));
  });
}

TEST_CASE("ranks that miss another one write whom they missed, and blame finds it") {
  for (const Mode& mode : {kAllgather, kOktopk, kGtopk}) {
    CAPTURE(mode.name);
    std::optional<Folder> made;
    std::unique_ptr<Ranks> team;
    constexpr int P = 4, kMissing = 2;
    CHECK(with_longer_deadlines(400, [&](int ms) {
            const Variable variable(kRecorder, made.emplace().file("flight"));
            sparsecollConfig_t config = config_of(mode);
            config.timeoutMs = ms;
            team = std::make_unique<Ranks>(P, config);
            return miss_a_rank(*team, mode, kMissing);
          }) == "");
    const Folder& folder = *made;
    const Ranks& ranks = *team;
    const auto records = records_in(folder);
    CHECK(records.size() == P - 1);
    CHECK(records.count(kMissing) == 0);
    for (const auto& [rank, record] : records) {
      CHECK(record.at("cause") == "failure");
      const std::string message = record.at("error").at("message");
      CHECK(contains(sparsecollGetLastError(ranks.comm(rank)), message.c_str()));
      const Json last = record.at("calls").back();
      CHECK(last.at("sequence") == 4);
      CHECK(last.at("state") == "failed");
      CHECK(last.at("count") == kCount);
    }
    const std::string line = blame(folder);
    CAPTURE(line);
    CHECK(contains(line, "call 4 ("));
    CHECK(contains(line, "rank 2 was missing; no record"));
    REQUIRE(sparsecollCommDump(ranks.comm(kMissing), nullptr) == sparsecollSuccess);
    CHECK(contains(blame(folder), "rank 2 was missing; its last call was call 3 ("));
  }
}

TEST_CASE("a call that waits can be dumped by another thread") {
  const Folder folder;
  const Ranks ranks(3, config_of(kAllgather));
  std::atomic<bool> dumped{false};
  CHECK(ranks.run("a dump of a call that waits", [&](int rank) -> std::string {
    if (rank == 1) {  // the dump of rank 0 must show that it waits for this rank
      const std::string file = folder.file("record");
      for (int tries = 0; tries < 2000 && !dumped; ++tries) {
        const sparsecollResult_t result = sparsecollCommDump(ranks.comm(0), file.c_str());
        if (result != sparsecollSuccess) return explain(result, ranks.comm(0));
        const Json calls = read_record(file).at("calls");
        dumped = !calls.empty() && calls.back().at("waits") == true &&
                 calls.back().at("peers") == Json::array({1}) &&
                 calls.back().at("state") == "running";
        if (!dumped) std::this_thread::sleep_for(milliseconds(5));
      }
      if (!dumped) return "rank 0 never waited for rank 1";
    }
    const sparsecollResult_t result = call_of(kAllgather, ranks.comm(rank));
    return result == sparsecollSuccess ? "" : explain(result, ranks.comm(rank));
  }) == "");
}

TEST_CASE("the last 256 calls are kept, with what the ranks agreed on") {
  const Folder folder;
  const Ranks ranks(2, config_of(kOktopk));
  CHECK(ranks.run("many calls", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    for (int call = 0; call < 300; ++call)
      if (call_of(kOktopk, comm) != sparsecollSuccess) return sparsecollGetLastError(comm);
    if (sparsecollGroupStart(comm) != sparsecollSuccess) return "no group";
    std::vector<double> x(7, 1.0), y(7, 1.0);
    call_dense_verb<double>(Verb::kGtopk, {x.data(), x.data(), 7, 2}, comm);
    call_dense_verb<double>(Verb::kSparse, {y.data(), y.data(), 7, 2}, comm);
    return sparsecollGroupEnd(comm) == sparsecollSuccess ? "" : sparsecollGetLastError(comm);
  }) == "");
  const std::string file = folder.file("record");
  REQUIRE(sparsecollCommDump(ranks.comm(1), file.c_str()) == sparsecollSuccess);
  const Json record = read_record(file);
  CHECK(record.at("rank") == 1);
  CHECK(record.at("ranks") == 2);
  CHECK(record.at("error").is_null());
  const Json& calls = record.at("calls");
  REQUIRE(calls.size() == 256);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(calls[i].at("sequence") == 301 - 255 + i);
    CHECK(calls[i].at("state") == "done");
    CHECK(calls[i].at("begin") <= calls[i].at("end"));
  }
  CHECK(calls[254].at("verb") == "sparseAllreduce");
  CHECK(calls[254].at("count") == kCount);
  CHECK(calls[254].at("k") == kK);
  CHECK(calls[254].at("type") == "sparsecollFloat32");
  CHECK(calls[254].at("algorithm") == "oktopk");
  CHECK(calls[255].at("verb") == "sparsecollGroupEnd");
  CHECK(calls[255].at("calls") == 2);
}

TEST_CASE("records are whole while calls run") {
  const Folder folder;
  const Ranks ranks(2, config_of(kAllgather));
  std::atomic<bool> ends{false};
  std::string wrong;
  std::thread reader([&] {
    const std::string file = folder.file("record");
    while (!ends && wrong.empty()) {
      if (sparsecollCommDump(ranks.comm(0), file.c_str()) != sparsecollSuccess)
        wrong = sparsecollGetLastError(ranks.comm(0));
      const Json calls = read_record(file).at("calls");
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].at("count") != kCount) wrong = "a torn record";
        if (i > 0 && calls[i].at("sequence") <= calls[i - 1].at("sequence")) wrong = "disorder";
      }
    }
  });
  const int rounds = small_run() ? 500 : 5000;
  CHECK(ranks.run("calls and dumps", [&](int rank) -> std::string {
    for (int call = 0; call < rounds; ++call)
      if (call_of(kAllgather, ranks.comm(rank)) != sparsecollSuccess)
        return sparsecollGetLastError(ranks.comm(rank));
    return "";
  }) == "");
  ends = true;
  reader.join();
  CHECK(wrong == "");
}

TEST_CASE("a dump that cannot be written is an error and nothing else") {
  const Folder folder;
  const Ranks ranks(1, config_of(kAllgather));
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(sparsecollCommDump(nullptr, "x") == sparsecollInvalidArgument);
  CHECK(sparsecollCommDump(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(contains(sparsecollGetLastError(comm), "SPARSECOLL_FLIGHT_RECORDER"));
  CHECK(sparsecollCommDump(comm, folder.file("no/such/folder").c_str()) == sparsecollSystemError);
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(sparsecollCommDump(comm, pipe.c_str()) == sparsecollInvalidArgument);
  CHECK(call_of(kAllgather, comm) == sparsecollSuccess);
}

std::atomic<int> program_signals{0};

TEST_CASE("a signal writes the records of all communicators, and reaches the program") {
  const Folder folder;
  const Variable recorder(kRecorder, folder.file("at_%r.json")), variable(kSignal, "SIGUSR2");
  REQUIRE(::signal(SIGUSR2, [](int) { ++program_signals; }) != SIG_ERR);
  const Ranks ranks(2, config_of(kAllgather));
  CHECK(records_in(folder).empty());
  raise(SIGUSR2);
  for (int tries = 0; tries < 2000 && records_in(folder).size() < 2; ++tries)
    std::this_thread::sleep_for(milliseconds(5));
  const auto records = records_in(folder);
  REQUIRE(records.size() == 2);
  CHECK(records.at(1).at("cause") == "signal");
  CHECK(program_signals == 1);
}

TEST_CASE("a signal needs a known name and files") {
  const auto message_of_init = [] {
    sparsecollComm_t comm = nullptr;
    CHECK(sparsecollCommInitAll(&comm, 1, nullptr, nullptr) == sparsecollInvalidArgument);
    return std::string(sparsecollGetLastError(nullptr));
  };
  {
    const Variable variable(kSignal, "SIGUSR1");
    CHECK(contains(message_of_init(), "SPARSECOLL_FLIGHT_SIGNAL: expected SPARSECOLL_FLIGHT"));
  }
  const Folder folder;
  const Variable recorder(kRecorder, folder.file("x")), variable(kSignal, "SIGKILL");
  CHECK(contains(message_of_init(), "SPARSECOLL_FLIGHT_SIGNAL: expected one of SIGUSR1"));
}

}  // namespace
}  // namespace sparsecoll::test
