// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Environment variables override the configuration, and unknown values are refused. The tests are a
// program of their own, because the environment belongs to the process.

#include <chrono>
#include <cstdlib>
#include <string>

#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

int algorithm_that_ran(int configured) {
  sparsecollConfig_t config = default_config();
  config.algorithm = configured;
  const Ranks ranks(2, config);
  Mode mode = kAuto;
  const char* value = std::getenv("SPARSECOLL_ALGO");
  if (value != nullptr && std::string(value) == "dense") mode = kDense;
  CHECK(run_case(ranks, Case{1, mode, 400, 10, Kind::kHeavyTail}) == "");
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  REQUIRE(sparsecollCommGetStats(ranks.comm(0), sparsecollStatsLast, &stats) == sparsecollSuccess);
  return stats.algorithm;
}

TEST_CASE("SPARSECOLL_ALGO overrides the algorithm") {
  CHECK(algorithm_that_ran(sparsecollAlgoOktopk) == sparsecollAlgoOktopk);
  const Variable allgather("SPARSECOLL_ALGO", "allgather");
  CHECK(algorithm_that_ran(sparsecollAlgoOktopk) == sparsecollAlgoAllgather);
  const Variable oktopk("SPARSECOLL_ALGO", "oktopk");
  CHECK(algorithm_that_ran(sparsecollAlgoAllgather) == sparsecollAlgoOktopk);
  const Variable dense("SPARSECOLL_ALGO", "dense");
  CHECK(algorithm_that_ran(sparsecollAlgoAllgather) == sparsecollAlgoDense);
  const Variable automatic("SPARSECOLL_ALGO", "auto");
  CHECK(algorithm_that_ran(sparsecollAlgoDense) != sparsecollAlgoDense);
}

/// Returns the message of an init that must fail.
std::string refused() {
  sparsecollComm_t comms[2] = {};
  const sparsecollResult_t result = sparsecollCommInitAll(comms, 2, nullptr, nullptr);
  CHECK(result == sparsecollInvalidArgument);
  if (result == sparsecollSuccess) {
    for (const sparsecollComm_t comm : comms) sparsecollCommDestroy(comm);
  }
  return sparsecollGetLastError(nullptr);
}

void check_refusal(const char* name, const std::string& value,
                   const std::vector<std::string>& named) {
  const Variable variable(name, value);
  const std::string message = refused();
  INFO(name << "=" << value << ": " << message);
  CHECK(message.find(name) != std::string::npos);
  for (const std::string& valid : named) CHECK(message.find(valid) != std::string::npos);
}

TEST_CASE("SPARSECOLL_SELECT and SPARSECOLL_WIRE accept what there is") {
  const Variable select("SPARSECOLL_SELECT", "exact");
  const Variable wire("SPARSECOLL_WIRE", "native");
  const Ranks ranks(2, default_config());
  CHECK(run_case(ranks, Case{1, kAuto, 400, 10}) == "");
  {
    const Variable reuse("SPARSECOLL_SELECT", "reuse");
    CHECK(algorithm_that_ran(sparsecollAlgoAuto) == sparsecollAlgoOktopk);
    const Variable allgather("SPARSECOLL_ALGO", "allgather");
    check_refusal("SPARSECOLL_SELECT", "reuse", {"SPARSECOLL_ALGO", "oktopk", "allgather"});
  }
  const Variable narrow("SPARSECOLL_WIRE", "bf16");
  const Ranks rounding(2, config_of(kAllgather));
  const Mode mode = over_bf16(kAllgather, "bf16 by the environment");
  CHECK(run_case(rounding, Case{1, mode, 400, 10, Kind::kHeavyTail}) == "");
}

/// Lets rank 0 wait for rank 1, which does not call, with the variable's deadline.
std::string wait_for_the_variable(int deadline_ms) {
  const Variable deadline("SPARSECOLL_TIMEOUT_MS", std::to_string(deadline_ms));
  const Ranks ranks(2, default_config());
  std::vector<float> x(10, 1.0f);
  const DenseCall<float> c{x.data(), x.data(), 10, 2};
  const auto start = std::chrono::steady_clock::now();
  const sparsecollResult_t result = call_dense_verb(Verb::kSparse, c, ranks.comm(0));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took.count() < deadline_ms / 1000.0) return "the error came early";
  if (took.count() > deadline_ms / 1000.0 + patience()) return "the error came late";
  return expect("the call", result, sparsecollTimeout, ranks.comm(0));
}

TEST_CASE("SPARSECOLL_TIMEOUT_MS overrides the deadline") {
  CHECK(with_longer_deadlines(300, wait_for_the_variable) == "");
}

TEST_CASE("an unknown value is an error that lists the valid ones") {
  std::vector<std::string> algorithms;
  for (const AlgorithmInfo& each : kAlgorithms) algorithms.push_back(each.name);
  for (const char* value : {"fastest", "OKTOPK", "oktopk ", "a2a", "hierarchy", "2"}) {
    check_refusal("SPARSECOLL_ALGO", value, algorithms);
  }
  check_refusal("SPARSECOLL_SELECT", "guess", {"exact", "reuse"});
  check_refusal("SPARSECOLL_WIRE", "fp8", {"native", "bf16", "int8"});
  for (const char* value : {"soon", "-5", "10s", "99999999999999999999", "1e3"}) {
    check_refusal("SPARSECOLL_TIMEOUT_MS", value, {});
  }
}

TEST_CASE("after a refusal the next init works") {
  check_refusal("SPARSECOLL_ALGO", "fastest", {});
  const Ranks ranks(2, default_config());
  CHECK(run_case(ranks, Case{1, kAuto, 400, 10}) == "");
}

TEST_CASE("a communicator keeps the environment of its making") {
  const Ranks ranks(2, config_of(kAllgather));
  const Variable later("SPARSECOLL_ALGO", "dense");
  CHECK(run_case(ranks, Case{1, kAllgather, 400, 10, Kind::kHeavyTail}) == "");
}

}  // namespace
}  // namespace sparsecoll::test
