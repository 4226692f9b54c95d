// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests invalid configurations and their error messages.

#include <cstddef>
#include <cstring>
#include <set>

#include "support/catch.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

/// Returns the result of an init with `config`. Destroys the communicator.
sparsecollResult_t init_with(const sparsecollConfig_t* config, int nranks = 2) {
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(nranks), nullptr);
  const sparsecollResult_t result = sparsecollCommInitAll(comms.data(), nranks, nullptr, config);
  if (result == sparsecollSuccess) {
    for (const sparsecollComm_t comm : comms) sparsecollCommDestroy(comm);
  }
  return result;
}

struct BadField {
  const char* name;
  void (*spoil)(sparsecollConfig_t&);
};

const BadField kBadFields[] = {
    {"size", [](sparsecollConfig_t& c) { c.size = 0; }},
    {"magic", [](sparsecollConfig_t& c) { c.magic = 0; }},
    {"version", [](sparsecollConfig_t& c) { c.version = 0; }},
    {"blocking", [](sparsecollConfig_t& c) { c.blocking = -1; }},
    {"blocking", [](sparsecollConfig_t& c) { c.blocking = 2; }},
    {"device", [](sparsecollConfig_t& c) { c.device = 4711; }},
    {"device", [](sparsecollConfig_t& c) { c.device = -2; }},
    {"timeoutMs", [](sparsecollConfig_t& c) { c.timeoutMs = -1; }},
    {"algorithm", [](sparsecollConfig_t& c) { c.algorithm = 7; }},
    {"algorithm", [](sparsecollConfig_t& c) { c.algorithm = -1; }},
    {"selection", [](sparsecollConfig_t& c) { c.selection = 2; }},
    {"selection", [](sparsecollConfig_t& c) { c.selection = INT_MAX; }},
    {"residualRule", [](sparsecollConfig_t& c) { c.residualRule = 2; }},
    {"residualRule", [](sparsecollConfig_t& c) { c.residualRule = -1; }},
    {"wire", [](sparsecollConfig_t& c) { c.wire = 3; }},
    {"wire", [](sparsecollConfig_t& c) { c.wire = INT_MIN; }},
    {"repartitionInterval", [](sparsecollConfig_t& c) { c.repartitionInterval = 0; }},
    {"thresholdInterval", [](sparsecollConfig_t& c) { c.thresholdInterval = 0; }},
    {"thresholdInterval", [](sparsecollConfig_t& c) { c.thresholdInterval = -5; }},
    {"allowSharded", [](sparsecollConfig_t& c) { c.allowSharded = 2; }},
    {"allowSharded", [](sparsecollConfig_t& c) { c.allowSharded = -1; }},
    {"nonFinite", [](sparsecollConfig_t& c) { c.nonFinite = 2; }},
    {"expectedRanks", [](sparsecollConfig_t& c) { c.expectedRanks = -1; }},
};

TEST_CASE("a bad field is refused, and the message of this thread names it") {
  for (const BadField& bad : kBadFields) {
    sparsecollConfig_t config = default_config();
    bad.spoil(config);
    CHECK(init_with(&config) == sparsecollInvalidArgument);
    const std::string message = sparsecollGetLastError(nullptr);
    INFO(bad.name << ": '" << message << "'");
    CHECK(message.find(bad.name) != std::string::npos);
  }
}

TEST_CASE("a config without its initializer is refused") {
  sparsecollConfig_t zeros;
  std::memset(&zeros, 0, sizeof zeros);
  CHECK(init_with(&zeros) == sparsecollInvalidArgument);
  std::memset(&zeros, 0xff, sizeof zeros);
  CHECK(init_with(&zeros) == sparsecollInvalidArgument);
  sparsecollConfig_t config = default_config();
  CHECK(init_with(&config) == sparsecollSuccess);
}

TEST_CASE("a shorter config keeps the defaults of what it lacks, a longer one is accepted") {
  struct Longer {
    sparsecollConfig_t known;
    int unknown[4];
  } longer{default_config(), {0, 0, 0, 0}};
  longer.known.size = sizeof longer;
  longer.known.algorithm = 99;
  CHECK(init_with(&longer.known) == sparsecollInvalidArgument);
  longer.known.algorithm = sparsecollAlgoOktopk;
  CHECK(init_with(&longer.known) == sparsecollSuccess);

  sparsecollConfig_t shorter = default_config();
  shorter.size = offsetof(sparsecollConfig_t, repartitionInterval);
  shorter.repartitionInterval = -1;  // beyond its size: not looked at
  CHECK(init_with(&shorter) == sparsecollSuccess);
}

TEST_CASE("ranks and outputs of InitAll") {
  CHECK(init_with(nullptr, 0) == sparsecollInvalidArgument);
  CHECK(sparsecollCommInitAll(nullptr, 2, nullptr, nullptr) == sparsecollInvalidArgument);
  sparsecollComm_t comms[2] = {};
  CHECK(sparsecollCommInitAll(comms, -1, nullptr, nullptr) == sparsecollInvalidArgument);
  const int devices[2] = {SPARSECOLL_DEVICE_HOST, 4711};
  CHECK(sparsecollCommInitAll(comms, 2, devices, nullptr) == sparsecollInvalidArgument);
  CHECK(std::strlen(sparsecollGetLastError(nullptr)) > 0);
}

TEST_CASE("the last failed init is each thread's own") {
  sparsecollConfig_t config = default_config();
  config.algorithm = 99;
  CHECK(init_with(&config) == sparsecollInvalidArgument);
  CHECK(std::strlen(sparsecollGetLastError(nullptr)) > 0);
  CHECK(run_threads("another thread", 1,
                    [](int) -> std::string { return sparsecollGetLastError(nullptr); }) == "");
}

TEST_CASE("every result has a name, and so has every other number") {
  std::set<std::string> texts;
  for (int value = 0; value <= 9; ++value) {
    const char* text = sparsecollGetErrorString(static_cast<sparsecollResult_t>(value));
    REQUIRE(text != nullptr);
    CHECK(std::strlen(text) > 0);
    texts.insert(text);
  }
  CHECK(texts.size() == 10);
  for (const int value : {10, 4711, 0x7fffffff}) {
    const char* text = sparsecollGetErrorString(static_cast<sparsecollResult_t>(value));
    REQUIRE(text != nullptr);
    CHECK(std::strlen(text) > 0);
    CHECK(texts.count(text) == 0);
  }
}

}  // namespace
}  // namespace sparsecoll::test
