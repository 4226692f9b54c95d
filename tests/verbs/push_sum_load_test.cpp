// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests drain, load and step without a barrier between them: a rank that has left the drain loads a
// saved step and sends from there, while others are still in the drain or have not loaded yet.

#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"
#include "support/push_sum.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kLength = 5;
constexpr int kRounds = 25;

using Vector = std::vector<double>;

struct Setting {
  int P;
  GraphCase graph;
  int delay;
  std::size_t k;  ///< entries of compressed messages; 0: not compressed

  sparsecollPushSumConfig_t config() const {
    sparsecollPushSumConfig_t config = graph.config();
    config.maxDelay = delay;
    config.k = k;
    config.mixing = 0.5;
    return config;
  }
};

/// Ranks that go on at different times.
void stagger(int rank, int round) {
  const std::uint64_t dice = noise(static_cast<std::uint64_t>(rank), static_cast<unsigned>(round));
  if (dice % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice % 500));
}

/// One rank, which returns to its saved state again and again.
class Traveller {
 public:
  Traveller(const Ranks& ranks, int rank, const Setting& setting, const std::string& path)
      : comm_(ranks.comm(rank)),
        rank_(rank),
        path_(path),
        state_(comm_, kLength, setting.config()),
        x_(make_data<double>(Kind::kWideIntegers, kLength, rank, setting.P, 1)) {}

  const Vector& x() const { return x_; }
  double weight() const { return state_.weight(); }

  std::string travel() {
    std::string verdict = steps_and_drain(3, 0);
    if (verdict.empty()) verdict = save();
    const Vector saved = x_;
    for (int round = 0; round < kRounds && verdict.empty(); ++round) {
      stagger(rank_, round);
      verdict = load();
      x_ = saved;
      if (verdict.empty()) verdict = steps_and_drain(1 + round % 3, round + kRounds);
      if (!verdict.empty()) return "round " + std::to_string(round) + ": " + verdict;
    }
    return verdict;
  }

 private:
  std::string steps_and_drain(int count, int round) {
    for (int t = 0; t < count; ++t) {
      const std::string verdict = expect("step", state_.step(x_), sparsecollSuccess, comm_);
      if (!verdict.empty()) return verdict;
    }
    stagger(rank_, round);
    return expect("drain", state_.drain(x_), sparsecollSuccess, comm_);
  }
  std::string save() {
    return expect("save", sparsecollPushSumSave(state_.handle(), path_.c_str()), sparsecollSuccess,
                  comm_);
  }
  std::string load() {
    return expect("load", sparsecollPushSumLoad(state_.handle(), path_.c_str()), sparsecollSuccess,
                  comm_);
  }

  sparsecollComm_t comm_;
  int rank_;
  std::string path_;
  PushSum<double> state_;
  Vector x_;
};

void travel_together(const Setting& setting) {
  INFO("P=" << setting.P << ", " << setting.graph.name << ", maxDelay " << setting.delay << ", k "
            << setting.k);
  const Folder folder;
  const Ranks ranks(setting.P, default_config());
  std::vector<Vector> x(static_cast<std::size_t>(setting.P)), first = x;
  std::vector<double> weights(x.size());
  CHECK(ranks.run("drain, load, step", [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    Traveller traveller(ranks, rank, setting, folder.file("rank" + std::to_string(rank)));
    first[r] = traveller.x();
    const std::string verdict = traveller.travel();
    x[r] = traveller.x();
    weights[r] = traveller.weight();
    return verdict;
  }) == "");
  CHECK(distance("sum of x", sum_of(x), sum_of(first), 1e-12) == "");
  double weight = 0;
  for (const double each : weights) weight += each;
  CHECK(weight == Approx(setting.P).epsilon(1e-12));
}

TEST_CASE("ranks go back to a saved step without waiting for each other") {
  const GraphCase ring{"ring", sparsecollGraphRing, oracle::GraphKind::kRing, 1};
  for (const int P : {1, 2, 3, 5})
    for (const int delay : {0, 1, 2, -1})
      for (const std::size_t k : {std::size_t{0}, std::size_t{2}})
        for (const GraphCase& graph : {kExponential, ring}) travel_together({P, graph, delay, k});
}

}  // namespace
}  // namespace sparsecoll::test
