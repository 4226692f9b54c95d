// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparsecollResidualSave and sparsecollResidualLoad: an interrupted run continues with the
// same bits, and invalid files change nothing.

#include <sys/stat.h>

#include "core/state_file.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kCount = 3000;
constexpr std::size_t kKept = 40;

/// Calls first .. last - 1 of a run; results and residual of the last one.
std::string go_on(const Ranks& ranks, int rank, const Residual<float>& residual, int first,
                  int last, std::vector<float>& out) {
  out.resize(kCount);
  for (int call = first; call < last; ++call) {
    const auto send = make_data<float>(Kind::kHeavyTail, kCount, rank, ranks.size(),
                                       static_cast<std::uint64_t>(call));
    const DenseCall<float> c{send.data(), out.data(),    kCount,
                             kKept,       sparsecollAvg, residual.handle()};
    const sparsecollResult_t result = call_dense_verb(Verb::kSparse, c, ranks.comm(rank));
    if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
  }
  return "";
}

sparsecollConfig_t reuse_config() {
  sparsecollConfig_t config = config_of(kOktopk);
  config.selection = sparsecollSelectReuse;
  config.thresholdInterval = 8;
  config.repartitionInterval = 5;
  return config;
}

TEST_CASE("an interrupted run goes on with the same bits") {
  for (const int P : {1, 2, 3, 5, 8}) {
    for (const sparsecollConfig_t& config :
         {config_of(kAuto), config_of(kOktopk), config_of(kHierarchical), config_of(kSharded),
          reuse_config()}) {
      const Folder folder;
      std::vector<std::vector<float>> through(static_cast<std::size_t>(P)), left = through;
      {
        const Ranks ranks(P, config);
        CHECK(ranks.run("without interruption", [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          Residual<float> residual(ranks.comm(rank), kCount);
          std::string verdict = go_on(ranks, rank, residual, 0, 11, through[r]);
          const std::string path = folder.file(rank);
          verdict += expect("save", sparsecollResidualSave(residual.handle(), path.c_str()),
                            sparsecollSuccess, ranks.comm(rank));
          verdict += go_on(ranks, rank, residual, 11, 24, through[r]);
          left[r] = residual.read();
          return verdict;
        }) == "");
      }
      const Ranks ranks(P, config);
      CHECK(ranks.run("from files", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        Residual<float> residual(ranks.comm(rank), kCount);
        std::string verdict =
            expect("load", sparsecollResidualLoad(residual.handle(), folder.file(rank).c_str()),
                   sparsecollSuccess, ranks.comm(rank));
        std::vector<float> result;
        verdict += go_on(ranks, rank, residual, 11, 24, result);
        verdict += difference("result", result, through[r]);
        return verdict + difference("residual", residual.read(), left[r]);
      }) == "");
    }
  }
}

TEST_CASE("ranks that did not all load are told so, and go on when they have") {
  const Folder folder;
  const auto use = [&](const Ranks& ranks, int rank, bool saves) {
    Residual<float> residual(ranks.comm(rank), kCount);
    std::vector<float> result;
    std::string verdict;
    const std::string path = folder.file(rank);
    if (saves) {
      verdict = go_on(ranks, rank, residual, 0, 3, result);
      return verdict + expect("save", sparsecollResidualSave(residual.handle(), path.c_str()),
                              sparsecollSuccess, ranks.comm(rank));
    }
    if (rank != 1) sparsecollResidualLoad(residual.handle(), path.c_str());
    const auto before = residual.read();
    verdict = go_on(ranks, rank, residual, 3, 4, result);
    if (verdict.find("sparsecollInvalidUsage") == std::string::npos ||
        verdict.find("sparsecollResidualLoad") == std::string::npos)
      return "not refused: " + verdict;
    verdict = difference("residual", residual.read(), before);
    if (rank == 1) sparsecollResidualLoad(residual.handle(), path.c_str());
    return verdict + go_on(ranks, rank, residual, 3, 4, result);
  };
  for (const bool saves : {true, false}) {
    const Ranks ranks(3, config_of(kOktopk));
    CHECK(ranks.run("some load", [&](int rank) { return use(ranks, rank, saves); }) == "");
  }
}

TEST_CASE("files that are not right are refused and change nothing") {
  const Folder folder;
  const Ranks ranks(2, default_config()), alone(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  Residual<float> good(comm, 100), longer(comm, 101), other_rank(ranks.comm(1), 100),
      other_size(alone.comm(0), 100);
  Residual<double> other_type(comm, 100);
  good.write(std::vector<float>(100, 2.0f));
  const std::string path = folder.file("0");
  REQUIRE(sparsecollResidualSave(good.handle(), path.c_str()) == sparsecollSuccess);

  const auto refused = [&](sparsecollResidual_t residual, sparsecollComm_t owner,
                           const char* words) {
    INFO(words);
    CHECK(sparsecollResidualLoad(residual, path.c_str()) == sparsecollInvalidArgument);
    INFO(sparsecollGetLastError(owner));
    CHECK(std::string(sparsecollGetLastError(owner)).find(words) != std::string::npos);
  };
  refused(longer.handle(), comm, "count");
  refused(other_type.handle(), comm, "datatype");
  refused(other_rank.handle(), ranks.comm(1), "rank");
  refused(other_size.handle(), alone.comm(0), "number of ranks");

  good.write(std::vector<float>(100, 3.0f));
  const std::string sound = content(path);
  for (std::size_t damage = 0; damage < sound.size(); damage += 7) {
    for (const bool cut : {true, false}) {
      std::string bad = sound;
      if (cut)
        bad.resize(damage);
      else
        bad[damage] = static_cast<char>(bad[damage] ^ 0x10);
      put(path, bad);
      CHECK(sparsecollResidualLoad(good.handle(), path.c_str()) == sparsecollInvalidArgument);
    }
  }
  CHECK(difference("residual", good.read(), std::vector<float>(100, 3.0f)) == "");
  for (const char* bad : {static_cast<const char*>(nullptr), ""}) {
    CHECK(sparsecollResidualLoad(good.handle(), bad) == sparsecollInvalidArgument);
    CHECK(sparsecollResidualSave(good.handle(), bad) == sparsecollInvalidArgument);
  }
  CHECK(sparsecollResidualLoad(good.handle(), (path + "-none").c_str()) == sparsecollSystemError);
  CHECK(sparsecollResidualSave(good.handle(), (path + "/no/folder").c_str()) ==
        sparsecollSystemError);
  CHECK(sparsecollResidualSave(nullptr, path.c_str()) == sparsecollInvalidArgument);
}

/// A file that is sound in itself, with regions of a tensor of 100 values on 2 ranks, and one shape
/// that has these borders.
void write_with_cuts(const std::string& path, const std::vector<std::uint64_t>& cuts) {
  const std::uint64_t tensor[] = {100, sparsecollFloat32, 0, 2, 9};
  const std::vector<float> values(100, 7.0f);
  std::vector<std::uint64_t> warm{12345, 10 + cuts.size(), 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  warm.insert(warm.end(), cuts.begin(), cuts.end());
  const StateSection sections[] = {{"tensor", std::as_bytes(std::span(tensor))},
                                   {"values", std::as_bytes(std::span(values))},
                                   {"warm", std::as_bytes(std::span(warm))}};
  write_state_file(path, "residual", sections);
}

TEST_CASE("regions that do not make up the tensor are refused, whatever the checksum says") {
  const Folder folder;
  const Ranks ranks(2, default_config());
  Residual<float> residual(ranks.comm(0), 100);
  residual.write(std::vector<float>(100, 3.0f));
  const std::string path = folder.file("0");
  const std::vector<std::uint64_t> bad[] = {
      {0, 50, 101}, {0, 200, 200}, {1, 50, 100},   {0, 50, 99},
      {0, 60, 50},  {0},           {0, 1, 2, 100}, {0, 50, ~std::uint64_t{0}}};
  for (const auto& cuts : bad) {
    write_with_cuts(path, cuts);
    CHECK(sparsecollResidualLoad(residual.handle(), path.c_str()) == sparsecollInvalidArgument);
    CHECK(std::string(sparsecollGetLastError(ranks.comm(0))).find("cuts") != std::string::npos);
  }
  CHECK(difference("residual", residual.read(), std::vector<float>(100, 3.0f)) == "");
  for (const std::vector<std::uint64_t>& good :
       {std::vector<std::uint64_t>{}, std::vector<std::uint64_t>{0, 0, 100},
        std::vector<std::uint64_t>{0, 33, 100}, std::vector<std::uint64_t>{0, 100}}) {
    write_with_cuts(path, good);
    CHECK(sparsecollResidualLoad(residual.handle(), path.c_str()) == sparsecollSuccess);
  }
  CHECK(difference("residual", residual.read(), std::vector<float>(100, 7.0f)) == "");
}

TEST_CASE("a path that is no regular file is refused at once, by what it is") {
  const HangGuard guard("a FIFO", 1, std::chrono::seconds(60));
  const Folder folder;
  const Ranks ranks(1, default_config());
  Residual<float> residual(ranks.comm(0), 100);
  residual.write(std::vector<float>(100, 3.0f));
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto call : {sparsecollResidualLoad, sparsecollResidualSave}) {
    CHECK(call(residual.handle(), pipe.c_str()) == sparsecollInvalidArgument);
    const std::string message = sparsecollGetLastError(ranks.comm(0));
    INFO(message);
    CHECK(message.find("path '" + pipe + "': expected a") != std::string::npos);
    CHECK(message.find("got a FIFO") != std::string::npos);
  }
  CHECK(difference("residual", residual.read(), std::vector<float>(100, 3.0f)) == "");
}

}  // namespace
}  // namespace sparsecoll::test
