// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// sparsecollNonFiniteSkip in coordinate form, groups and reduce-scatters, and with loss scaling.

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/non_finite.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("in coordinate form the entries that are sent decide") {
  for (const Mode& each : kTopkModes) {
    const Mode mode = skipping(each);
    for (const int P : {1, 2, 3, 5}) {
      const Ranks ranks(P, config_of(mode));
      for (const SparseKind kind : {SparseKind::kHeavyTail, SparseKind::kNotFinite}) {
        for (const std::size_t k : {std::size_t{0}, std::size_t{7}, SPARSECOLL_ALL}) {
          const SparseCase c{
              base_seed(),       mode, 500, k, kind, oracle::Op::kSum, sparsecollFloat32,
              sparsecollIndex32, true, 3};
          CHECK(run_case(ranks, c) == "");
        }
      }
    }
  }
}

TEST_CASE("in a group each call decides for itself") {
  for (const Mode& mode : skipping_modes()) {
    for (const int P : {2, 3, 4}) {
      INFO(mode.name << ", P=" << P);
      const Ranks ranks(P, config_of(mode));
      constexpr std::size_t kTensors = 4, n = 150, k = 6;
      std::vector<std::vector<Residual<float>>> residuals;  // by tensor
      std::vector<oracle::DenseInputs<float>> in(kTensors);
      std::vector<oracle::DenseOutcome<float>> want;
      for (std::size_t t = 0; t < kTensors; ++t) {
        residuals.push_back(make_residuals<float>(ranks.comms(), n, true));
        in[t].sends = make_data_of_all<float>(t % 2 == 1 ? Kind::kNotFinite : Kind::kHeavyTail, n,
                                              P, base_seed() + t);
        in[t].residuals.assign(static_cast<std::size_t>(P), std::vector<float>(n, 0));
        want.push_back(expected(mode, in[t], k, oracle::Op::kSum));
      }
      CHECK(ranks.run("a group", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        const sparsecollComm_t comm = ranks.comm(rank);
        std::vector<std::vector<float>> recv(kTensors, std::vector<float>(n));
        sparsecollGroupStart(comm);
        for (std::size_t t = 0; t < kTensors; ++t) {
          const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
          verb(in[t].sends[r].data(), recv[t].data(), n, k, sparsecollFloat32, sparsecollSum,
               residuals[t][r].handle(), comm, nullptr);
        }
        std::string wrong =
            expect("the group", settle(sparsecollGroupEnd(comm), comm), sparsecollSuccess, comm);
        for (std::size_t t = 0; wrong.empty() && t < kTensors; ++t) {
          const std::string of = " of tensor " + std::to_string(t);
          wrong = difference("recv" + of, recv[t], want[t].result);
          if (wrong.empty())
            wrong = difference("residual" + of, residuals[t][r].read(), want[t].residuals[r]);
        }
        if (wrong.empty() && skipped(comm, sparsecollStatsLast) != kTensors / 2)
          wrong = "skipped is not the number of tensors with a NaN";
        return wrong;
      }) == "");
    }
  }
}

// --- reduce-scatter

/// Makes calls on data that are finite and not in turn. Each rank gets a part of its shard.
std::string reduce_scatter(const Ranks& ranks, const Mode& mode, std::size_t k) {
  constexpr std::size_t n = 240;
  const auto P = static_cast<std::size_t>(ranks.size());
  const bool sharded = mode.algorithm == sparsecollAlgoSharded;
  const auto bounds =
      sharded ? bounds_on_first_node(n, P, nodes_of(mode, P)) : oracle::even_bounds(n, P);
  const auto residuals = make_residuals<float>(ranks.comms(), n, true);
  oracle::DenseInputs<float> in{{}, {P, std::vector<float>(n, 0)}};
  std::uint64_t seed = base_seed();
  for (const Data& data : {Data{Kind::kHeavyTail}, Data{Kind::kNotFinite}, Data{Kind::kHeavyTail},
                           Data{Kind::kHeavyTail, true}, Data{Kind::kInfinityClash},
                           Data{Kind::kIntegers}, Data{Kind::kHuge}}) {
    in.sends = make<float>(data, n, ranks.size(), ++seed);
    auto want =
        sharded
            ? oracle::ShardedOracle<float>::reduce_scatter(
                  in, sharded_call(mode, k, oracle::Op::kSum, P), {bounds.begin(), bounds.end()})
            : oracle::ExchangeOracle<float>::reduce_scatter(in, k, oracle::Op::kSum, bounds);
    if (skips(mode, in)) want.residuals = in.residuals;
    const std::string verdict = ranks.run("reduce-scatter", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const sparsecollComm_t comm = ranks.comm(rank);
      SparseBuffer<float> output(n, sparsecollIndex32, n);
      std::string wrong =
          expect("the verb",
                 settle(sparseReduceScatter(in.sends[r].data(), output.get(), n, k,
                                            sparsecollFloat32, sparsecollSum, bounds.data(),
                                            residuals[r].handle(), comm, nullptr),
                        comm),
                 sparsecollSuccess, comm);
      if (wrong.empty()) wrong = difference("recv", output.entries(), want.result[r]);
      if (wrong.empty()) wrong = difference("residual", residuals[r].read(), want.residuals[r]);
      return wrong;
    });
    if (!verdict.empty()) return std::string(name_of(data.kind)) + ": " + verdict;
    in.residuals = want.residuals;
  }
  return "";
}

TEST_CASE("a reduce-scatter leaves the residuals of ranks that get no entry of it, too") {
  for (const int size : {1, 2, 3, 8}) {
    const Variable nodes("SPARSECOLL_RANKS_PER_NODE", std::to_string(size));
    for (const int P : {1, 2, 3, 4, 6}) {
      for (const Mode& mode : {skipping(kOktopk), skipping(kSharded)}) {
        const Ranks ranks(P, config_of(mode));
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{30}}) {
          INFO(size << " ranks per node, P=" << P << ", " << mode.name << ", k=" << k);
          CHECK(reduce_scatter(ranks, mode, k) == "");
        }
      }
    }
  }
}

// --- loss scaling

TEST_CASE("with loss scaling results are those without, after overflows, too") {
  constexpr std::size_t n = 400, k = 12;
  for (const Mode& mode : skipping_modes()) {
    const int P = 3;
    const Ranks scaled(P, config_of(mode)), plain(P, config_of(mode));
    const auto of_scaled = make_residuals<double>(scaled.comms(), n, true);
    const auto of_plain = make_residuals<double>(plain.comms(), n, true);
    double scale = 1024;
    for (std::uint64_t step = 0; step < 12; ++step) {
      const auto gradients = make_data_of_all<double>(Kind::kHeavyTail, n, P, base_seed() + step);
      const bool overflows = step == 3 || step == 4 || step == 9;
      if (step == 7) {
        scale *= 2;
        for (const auto& each : of_scaled)
          CHECK(sparsecollResidualScale(each.handle(), 2) == sparsecollSuccess);
      }
      INFO(mode.name << ", step " << step);
      std::vector<std::vector<double>> recv(3, std::vector<double>(n));
      CHECK(scaled.run("scaled", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<double> send = gradients[r];
        for (double& each : send) each *= scale;
        if (overflows && r == step % 3) send[step * 11] = std::numeric_limits<double>::infinity();
        const DenseCall<double> c{send.data(), recv[r].data(), n,
                                  k,           sparsecollSum,  of_scaled[r].handle()};
        return expect("the call", call_dense_verb(mode.verb, c, scaled.comm(rank)),
                      sparsecollSuccess, scaled.comm(rank));
      }) == "");
      for (std::vector<double>& each : recv) {
        const bool is_finite =
            std::all_of(each.begin(), each.end(), [](double x) { return std::isfinite(x); });
        CHECK(is_finite != overflows);
        for (double& value : each) value /= scale;
      }
      if (overflows) {  // the optimizer leaves the step out
        scale /= 2;
        for (const auto& each : of_scaled)
          CHECK(sparsecollResidualScale(each.handle(), 0.5) == sparsecollSuccess);
        continue;
      }
      CHECK(plain.run("plain", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<double> want(n);
        const DenseCall<double> c{gradients[r].data(), want.data(),         n, k,
                                  sparsecollSum,       of_plain[r].handle()};
        std::string wrong = expect("the call", call_dense_verb(mode.verb, c, plain.comm(rank)),
                                   sparsecollSuccess, plain.comm(rank));
        if (wrong.empty()) wrong = difference("recv", recv[r], want);
        return wrong;
      }) == "");
    }
  }
}

TEST_CASE("integers and the local sparsecollTopk ignore the setting") {
  const Ranks ranks(2, config_of(skipping(kAuto)));
  CHECK(ranks.run("integers", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const SparseBuffer<std::int32_t> send(9, sparsecollIndex32,
                                          {{1, std::numeric_limits<std::int32_t>::min()}, {3, 7}});
    SparseBuffer<std::int32_t> recv(9, sparsecollIndex32, 9);
    const sparsecollResult_t result =
        settle(sparseAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                comm, nullptr),
               comm);
    if (result != sparsecollSuccess) return explain(result, comm);
    return skipped(comm, sparsecollStatsLast) == 0 ? "" : "integers were skipped";
  }) == "");
  CHECK(ranks.run("topk", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const Residual<float> residual(comm, 3);
    const std::vector<float> dense{1, kNan, 2};
    SparseBuffer<float> out(3, sparsecollIndex32, 1);
    const sparsecollResult_t result =
        settle(sparsecollTopk(dense.data(), 3, 1, sparsecollFloat32, residual.handle(), out.get(),
                              comm, nullptr),
               comm);
    if (result != sparsecollSuccess) return explain(result, comm);
    return difference("residual", residual.read(), std::vector<float>{1, 0, 2});
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
