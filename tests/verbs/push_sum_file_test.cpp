// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests saved push-sum states. A run that is continued from files has the same bits as one that was
// not interrupted. A file that does not fit is refused and changes nothing.

#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "core/state_file.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/push_sum.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kLength = 60;

using Vectors = std::vector<std::vector<double>>;

/// All ranks of a run, with their states and vectors.
class Run {
 public:
  Run(int P, const sparsecollPushSumConfig_t& config, Vectors x, std::size_t count = kLength)
      : ranks_(P, default_config()),
        config_(config),
        states_(static_cast<std::size_t>(P)),
        x_(std::move(x)) {
    each("create", [&](std::size_t r) {
      states_[r] = std::make_unique<PushSum<double>>(comm(r), count, config_);
      return sparsecollSuccess;
    });
  }

  const Vectors& x() const { return x_; }
  sparsecollComm_t comm(std::size_t r) const { return ranks_.comm(static_cast<int>(r)); }
  sparsecollPushSum_t handle(std::size_t r) const { return states_[r]->handle(); }
  std::vector<double> weights() const {
    std::vector<double> all;
    for (const auto& state : states_) all.push_back(state->weight());
    return all;
  }

  /// Steps with the same bits in every run: ranks that never wait take turns, so that what has
  /// arrived is always the same.
  void steps(int count) {
    for (int t = 0; t < count; ++t) {
      if (config_.maxDelay == 0)
        each("a step", [&](std::size_t r) { return states_[r]->step(x_[r]); });
      else
        for (std::size_t r = 0; r < x_.size(); ++r)
          REQUIRE(states_[r]->step(x_[r]) == sparsecollSuccess);
    }
  }
  void drain() {
    each("drain", [&](std::size_t r) { return states_[r]->drain(x_[r]); });
  }

  static std::string path(const Folder& folder, std::size_t r) {
    return folder.file("rank" + std::to_string(r));
  }
  void save(const Folder& folder) const {
    for (std::size_t r = 0; r < x_.size(); ++r)
      REQUIRE(sparsecollPushSumSave(handle(r), path(folder, r).c_str()) == sparsecollSuccess);
  }
  void load(const Folder& folder) const {
    for (std::size_t r = 0; r < x_.size(); ++r)
      REQUIRE(expect("load", sparsecollPushSumLoad(handle(r), path(folder, r).c_str()),
                     sparsecollSuccess, comm(r)) == "");
  }

 private:
  void each(const std::string& what,
            const std::function<sparsecollResult_t(std::size_t)>& body) const {
    REQUIRE(ranks_.run(what, [&](int rank) {
      return expect(what, body(static_cast<std::size_t>(rank)), sparsecollSuccess,
                    ranks_.comm(rank));
    }) == "");
  }

  Ranks ranks_;
  sparsecollPushSumConfig_t config_;
  std::vector<std::unique_ptr<PushSum<double>>> states_;
  Vectors x_;
};

sparsecollPushSumConfig_t config_of(const GraphCase& graph, int max_delay, std::size_t k) {
  sparsecollPushSumConfig_t config = graph.config();
  config.maxDelay = max_delay;
  config.k = k;
  config.mixing = 0.5;
  return config;
}

TEST_CASE("a run that is continued from files has the bits of one that was not interrupted") {
  for (const int P : {1, 2, 3, 5}) {
    for (const GraphCase& graph : {kExponential, kGraphs[3], kGraphs[7]}) {
      for (const int max_delay : {0, -1}) {
        for (const std::size_t k : {std::size_t{0}, std::size_t{6}}) {
          INFO(graph.name << " P=" << P << " maxDelay=" << max_delay << " k=" << k);
          const sparsecollPushSumConfig_t config = config_of(graph, max_delay, k);
          const Folder folder;
          Vectors x = make_data_of_all<double>(Kind::kHeavyTail, kLength, P, base_seed());
          Run first(P, config, x);
          first.steps(5);
          if (max_delay != 0) first.drain();
          first.save(folder);
          x = first.x();
          const std::vector<double> weights = first.weights();
          first.steps(6);
          first.drain();

          Run second(P, config, x);
          second.load(folder);
          CHECK(difference("weights", second.weights(), weights) == "");
          second.steps(6);
          second.drain();
          CHECK(difference("weights", second.weights(), first.weights()) == "");
          for (std::size_t r = 0; r < x.size(); ++r)
            CHECK(difference("x", second.x()[r], first.x()[r]) == "");
        }
      }
    }
  }
}

TEST_CASE("what a used state holds is replaced by what it loads") {
  const Folder folder;
  const sparsecollPushSumConfig_t config = config_of(kExponential, 0, 6);
  const Vectors start = make_data_of_all<double>(Kind::kHeavyTail, kLength, 3, base_seed());
  Run fresh(3, config, start), used(3, config, start);
  fresh.save(folder);
  used.steps(7);
  used.load(folder);
  CHECK(used.weights() == std::vector<double>(3, 1.0));
  struct stat status {};
  REQUIRE(::stat(Run::path(folder, 0).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a state with messages under way is neither saved nor loaded") {
  const Folder folder;
  for (const int max_delay : {-1, 2}) {
    Run run(2, config_of(kExponential, max_delay, 0), Vectors(2, std::vector<double>(kLength, 1)));
    run.save(folder);
    run.steps(1);
    const std::string path = Run::path(folder, 0);
    CHECK(sparsecollPushSumSave(run.handle(0), path.c_str()) == sparsecollInvalidUsage);
    CHECK(std::string(sparsecollGetLastError(run.comm(0))).find("sparsecollPushSumDrain") !=
          std::string::npos);
    CHECK(sparsecollPushSumLoad(run.handle(0), path.c_str()) == sparsecollInvalidUsage);
    run.drain();
    CHECK(sparsecollPushSumSave(run.handle(0), path.c_str()) == sparsecollSuccess);
    CHECK(sparsecollPushSumLoad(run.handle(0), path.c_str()) == sparsecollSuccess);
  }
}

TEST_CASE("a path is neither NULL nor empty") {
  const Run run(1, config_of(kExponential, 0, 0), Vectors(1, std::vector<double>(kLength, 1)));
  for (const char* path : {static_cast<const char*>(nullptr), ""})
    for (const auto call : {sparsecollPushSumSave, sparsecollPushSumLoad}) {
      CHECK(call(run.handle(0), path) == sparsecollInvalidArgument);
      CHECK(std::string(sparsecollGetLastError(run.comm(0))).find("path: expected") !=
            std::string::npos);
    }
}

/// "" when rank 0's state refuses the file for a reason with these words, and is as it was.
std::string refusal(const Run& run, const std::string& path, const std::string& words,
                    sparsecollResult_t code = sparsecollInvalidArgument) {
  const Folder folder;
  const std::string before = folder.file("before"), after = folder.file("after");
  sparsecollPushSumSave(run.handle(0), before.c_str());
  const sparsecollResult_t result = sparsecollPushSumLoad(run.handle(0), path.c_str());
  const std::string message = sparsecollGetLastError(run.comm(0));
  sparsecollPushSumSave(run.handle(0), after.c_str());
  if (result != code) return "result " + std::to_string(result);
  if (content(before) != content(after)) return "the state is another one";
  return message.find(words) == std::string::npos ? "the message is: " + message : "";
}

TEST_CASE("files that do not fit the state are refused by what does not fit") {
  const Folder folder;
  const Vectors x(3, std::vector<double>(kLength, 1));
  const sparsecollPushSumConfig_t config = config_of(kExponential, 0, 0);
  Run run(3, config, x);
  run.steps(2);
  run.save(folder);
  CHECK(refusal(run, Run::path(folder, 1), "expected rank 0, got 1") == "");
  CHECK(refusal(run, folder.file("none"), "cannot open", sparsecollSystemError) == "");
  CHECK(refusal(run, folder.file(""), "expected a file") == "");

  const auto other = [&](int P, const sparsecollPushSumConfig_t& c, std::size_t count) {
    const Run foreign(P, c, Vectors(static_cast<std::size_t>(P), std::vector<double>(count)),
                      count);
    foreign.save(folder);
  };
  const std::string path = Run::path(folder, 0);
  other(2, config, kLength);
  CHECK(refusal(run, path, "expected number of ranks 3, got 2") == "");
  other(3, config, kLength + 1);
  CHECK(refusal(run, path, "expected count 60, got 61") == "");
  other(3, config_of(kGraphs[6], 0, 0), kLength);
  CHECK(refusal(run, path, "expected graph 0, got 2") == "");
  other(3, config_of(kExponential, 0, 5), kLength);
  CHECK(refusal(run, path, "compressed gossip") == "");
  CHECK(sparsecollPushSumLoad(run.handle(0), nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollPushSumSave(run.handle(0), nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollPushSumSave(run.handle(0), folder.file("no/such").c_str()) ==
        sparsecollSystemError);
}

TEST_CASE("a path that is no regular file is refused at once, by what it is") {
  const HangGuard guard("a FIFO", 1, std::chrono::seconds(60));
  const Folder folder;
  const Run run(1, config_of(kExponential, 0, 0), Vectors(1, std::vector<double>(kLength, 1)));
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(run, pipe, "expected a file, got a FIFO") == "");
  CHECK(sparsecollPushSumSave(run.handle(0), pipe.c_str()) == sparsecollInvalidArgument);
  CHECK(std::string(sparsecollGetLastError(run.comm(0))).find("got a FIFO") != std::string::npos);
}

TEST_CASE("damaged files are refused") {
  const Folder folder;
  const sparsecollPushSumConfig_t config = config_of(kExponential, 0, 3);
  Run run(2, config, make_data_of_all<double>(Kind::kHeavyTail, kLength, 2, base_seed()));
  run.steps(2);
  run.save(folder);
  const std::string path = Run::path(folder, 0), bad = folder.file("bad");
  const std::string sound = content(path);
  for (std::size_t at = 0; at < sound.size(); at += 1 + at / 40) {
    std::string changed = sound;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    put(bad, changed);
    INFO("byte " << at);
    CHECK(refusal(run, bad, "bad") == "");
    put(bad, sound.substr(0, at));
    CHECK(refusal(run, bad, "bad") == "");
  }
}

/// A file that is sound in itself, of rank 0 of 1, with this step and weight.
void write_progress(const std::string& path, std::uint64_t step, double weight) {
  const std::uint64_t shape[] = {0, 1, kLength, sparsecollFloat64, sparsecollGraphExponential,
                                 1, 0};
  const std::uint64_t progress[] = {step, std::bit_cast<std::uint64_t>(weight)};
  const StateSection sections[] = {{"shape", std::as_bytes(std::span(shape))},
                                   {"progress", std::as_bytes(std::span(progress))}};
  write_state_file(path, "push-sum", sections);
}

TEST_CASE("steps and weights that no run has are refused, whatever the checksum says") {
  const Folder folder;
  const std::string path = folder.file("state");
  const Run run(1, SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER, {std::vector<double>(kLength)});
  write_progress(path, 7, 0.75);
  CHECK(sparsecollPushSumLoad(run.handle(0), path.c_str()) == sparsecollSuccess);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double weight : {std::nan(""), kInfinity, -kInfinity}) {
    write_progress(path, 7, weight);
    CHECK(sparsecollPushSumLoad(run.handle(0), path.c_str()) == sparsecollInvalidArgument);
  }
  for (const std::uint64_t step : {~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    write_progress(path, step, 1);
    CHECK(sparsecollPushSumLoad(run.handle(0), path.c_str()) == sparsecollInvalidArgument);
  }
  CHECK(run.weights()[0] == 0.75);
}

}  // namespace
}  // namespace sparsecoll::test
