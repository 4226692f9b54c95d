// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests drains whose peers go on at once. The drain leaves the messages that they send next.

#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("steps and drains in turn, without waiting for each other, keep all mass") {
  for (const int P : {2, 3, 5}) {
    for (const int delay : {1, 2, -1}) {
      const Ranks ranks(P, default_config());
      std::vector<double> x(static_cast<std::size_t>(P)), w(x.size());
      CHECK(ranks.run("drains", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        const sparsecollComm_t comm = ranks.comm(rank);
        sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
        config.maxDelay = delay;
        sparsecollPushSum_t state = nullptr;
        sparsecollPushSumCreate(&state, 1, sparsecollFloat64, &config, comm);
        x[r] = rank + 1;
        for (int round = 0; round < 60; ++round) {
          sparsecollResult_t result =
              pushSumStep(&x[r], nullptr, 1, sparsecollFloat64, state, comm, nullptr);
          if (result == sparsecollSuccess)
            result = settle(sparsecollPushSumDrain(state, &x[r], nullptr, nullptr), comm);
          if (result != sparsecollSuccess) return explain(result, comm);
        }
        sparsecollPushSumWeight(state, &w[r]);
        return std::string();
      }) == "");
      double mass = 0, weight = 0;
      for (std::size_t r = 0; r < x.size(); ++r) mass += x[r], weight += w[r];
      CHECK(mass == Approx(P * (P + 1) / 2.0).epsilon(1e-12));
      CHECK(weight == Approx(P).epsilon(1e-12));
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
