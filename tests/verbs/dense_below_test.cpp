// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of sparsecollConfig_t::denseBelow: a call of fewer values is the call with k = count,
// whatever its k.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kBelow = 300;

/// Returns a value of -3 to 3, often 0.
float value_at(int rank, std::size_t index, std::uint64_t call) {
  const std::uint64_t h = noise(noise(call, index), static_cast<std::uint64_t>(rank));
  return h % 3 == 0 ? 0.0f : static_cast<float>(static_cast<int>(h / 8 % 7) - 3);
}

std::vector<float> values_of(int rank, std::size_t n, std::uint64_t call) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value_at(rank, i, call);
  return values;
}

std::vector<float> sum_of(int P, std::size_t n, std::uint64_t call) {
  std::vector<float> sum(n);
  for (int rank = 0; rank < P; ++rank)
    for (std::size_t i = 0; i < n; ++i) sum[i] += value_at(rank, i, call);
  return sum;
}

sparsecollConfig_t config_below(const Mode& mode, std::size_t below) {
  sparsecollConfig_t config = config_of(mode);
  config.denseBelow = below;
  return config;
}

/// The modes that have an oracle.
std::vector<Mode> all_modes() {
  std::vector<Mode> modes = kSparseModes;
  modes.insert(modes.end(), {kGtopk, kGtopkPaper});
  modes.insert(modes.end(), kRoundingModes.begin(), kRoundingModes.end());
  return modes;
}

/// One tensor of all ranks, from call to call.
struct Tensor {
  std::size_t n;
  std::size_t k;     ///< that the calls pass
  std::size_t kept;  ///< the k of which they have the result
  std::vector<Residual<float>> residuals;
  oracle::DenseInputs<float> in;

  Tensor(const Ranks& ranks, std::size_t length, std::size_t passed)
      : n(length),
        k(passed),
        kept(length < kBelow ? length : passed),
        residuals(make_residuals<float>(ranks.comms(), length, true)) {
    in.residuals.assign(ranks.comms().size(), std::vector<float>(length, 0));
  }
};

/// Makes a few calls with these tensors, together in a group if there are several.
std::string call(const Ranks& ranks, const Mode& mode, std::vector<Tensor> tensors) {
  std::uint64_t seed = base_seed();
  for (const Kind kind : {Kind::kHeavyTail, Kind::kCancelling, Kind::kIntegers}) {
    std::vector<oracle::DenseOutcome<float>> want;
    for (Tensor& tensor : tensors) {
      tensor.in.sends = make_data_of_all<float>(kind, tensor.n, ranks.size(), ++seed);
      want.push_back(expected(mode, tensor.in, tensor.kept, oracle::Op::kSum));
    }
    const std::string verdict = ranks.run(mode.name, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<std::vector<float>> recv;
      for (const Tensor& tensor : tensors) recv.emplace_back(tensor.n, 99.0f);
      const auto make_calls = [&] {
        sparsecollResult_t result = sparsecollSuccess;
        const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
        for (std::size_t t = 0; t < tensors.size() && result == sparsecollSuccess; ++t)
          result = verb(tensors[t].in.sends[r].data(), recv[t].data(), tensors[t].n, tensors[t].k,
                        sparsecollFloat32, sparsecollSum, tensors[t].residuals[r].handle(), comm,
                        nullptr);
        return result;
      };
      std::string wrong = expect(
          "the call", tensors.size() > 1 ? in_group(comm, make_calls) : settle(make_calls(), comm),
          sparsecollSuccess, comm);
      for (std::size_t t = 0; wrong.empty() && t < tensors.size(); ++t) {
        const std::string of = " of " + std::to_string(tensors[t].n) + " values";
        wrong = difference("recv" + of, recv[t], want[t].result);
        if (wrong.empty())
          wrong = difference("residual" + of, tensors[t].residuals[r].read(), want[t].residuals[r]);
      }
      return wrong;
    });
    if (!verdict.empty()) return verdict;
    for (std::size_t t = 0; t < tensors.size(); ++t) tensors[t].in.residuals = want[t].residuals;
  }
  return "";
}

TEST_CASE("tensors below denseBelow are sent whole by every algorithm") {
  for (const Mode& mode : all_modes()) {
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_below(mode, kBelow));
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, kBelow - 1}) {
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n + 1}) {
          INFO(mode.name << ", P = " << P << ", n = " << n << ", k = " << k);
          std::vector<Tensor> one;
          one.emplace_back(ranks, n, k);
          CHECK(call(ranks, mode, std::move(one)) == "");
        }
      }
    }
  }
}

TEST_CASE("small tensors of a group are sent whole, and the others are not") {
  for (const Mode& mode : all_modes()) {
    for (const int P : {1, 2, 3, 5}) {
      INFO(mode.name << ", P = " << P);
      const Ranks ranks(P, config_below(mode, kBelow));
      std::vector<Tensor> several;
      for (const std::size_t n : {kBelow + 1, std::size_t{20}, kBelow, kBelow - 1})
        several.emplace_back(ranks, n, 3);
      CHECK(call(ranks, mode, std::move(several)) == "");
    }
  }
}

TEST_CASE("with estimated thresholds, too, a small tensor is that of k = count") {
  constexpr std::size_t n = 100;
  for (const int P : {1, 2, 5}) {
    const Ranks below(P, config_below(kReuse, kBelow)), whole(P, config_of(kReuse));
    const auto of_below = make_residuals<float>(below.comms(), n, true);
    const auto of_whole = make_residuals<float>(whole.comms(), n, true);
    for (std::uint64_t number = 0; number < 40; ++number) {
      const auto sends = make_data_of_all<float>(Kind::kHeavyTail, n, P, base_seed() + number);
      std::vector<std::vector<float>> results[2];
      for (auto& each : results) each.assign(sends.size(), std::vector<float>(n));
      for (const bool is_below : {true, false}) {
        const Ranks& ranks = is_below ? below : whole;
        CHECK(ranks.run("reuse", [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          const auto& residual = is_below ? of_below[r] : of_whole[r];
          const DenseCall<float> c{
              sends[r].data(),  results[is_below][r].data(), n, is_below ? 1 : n, sparsecollSum,
              residual.handle()};
          return expect("the call", call_dense_verb(Verb::kSparse, c, ranks.comm(rank)),
                        sparsecollSuccess, ranks.comm(rank));
        }) == "");
      }
      for (std::size_t r = 0; r < sends.size(); ++r) {
        CHECK(difference("recv", results[1][r], results[0][r]) == "");
        CHECK(difference("residual", of_below[r].read(), of_whole[r].read()) == "");
      }
    }
  }
}

TEST_CASE("tensors of denseBelow values and more have their definition") {
  for (const Mode& mode : kSparseModes) {
    const Ranks ranks(3, config_below(mode, kBelow));
    for (const std::size_t n : {kBelow, std::size_t{1000}}) {
      Case c{base_seed(), mode, n, 10, Kind::kHeavyTail};
      c.feedback = true;
      c.calls = 3;
      CHECK(run_case(ranks, c) == "");
    }
  }
}

TEST_CASE("sparseReduceScatter sends small tensors whole") {
  const std::size_t n = 100;
  for (const int P : rank_counts()) {
    const Ranks ranks(P, config_below(kAuto, n + 1));
    CHECK(ranks.run("reduce-scatter", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank), ranks_of = static_cast<std::size_t>(P);
      const auto send = values_of(rank, n, 5), sum = sum_of(P, n, 5);
      SparseBuffer<float> recv(n, sparsecollIndex32, n);
      const sparsecollResult_t result =
          settle(sparseReduceScatter(send.data(), recv.get(), n, 1, sparsecollFloat32,
                                     sparsecollSum, nullptr, nullptr, ranks.comm(rank), nullptr),
                 ranks.comm(rank));
      if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
      std::vector<float> got(n);
      const auto* const indices = static_cast<const std::uint32_t*>(recv.get()->indices);
      const auto* const values = static_cast<const float*>(recv.get()->values);
      for (std::size_t e = 0; e < recv.get()->nnz; ++e) got[indices[e]] = values[e];
      for (std::size_t i = 0; i < n; ++i) {
        const bool own = i >= r * n / ranks_of && i < (r + 1) * n / ranks_of;
        if (got[i] != (own ? sum[i] : 0.0f)) return "entry " + std::to_string(i);
      }
      return std::string();
    }) == "");
  }
}

TEST_CASE("ranks with another denseBelow are refused") {
  sparsecollConfig_t config = default_config();
  const Ranks ranks(2, config);
  CHECK(ranks.run("split", [&](int rank) {
    sparsecollConfig_t own = default_config();
    own.denseBelow = rank == 0 ? 5 : 6;
    sparsecollComm_t part = nullptr;
    const sparsecollResult_t got = sparsecollCommSplit(ranks.comm(rank), 0, 0, &part, &own);
    const std::string message = sparsecollGetLastError(ranks.comm(rank));
    if (got != sparsecollInvalidUsage) return "got " + explain(got, ranks.comm(rank));
    const bool named = message.find("denseBelow") != std::string::npos &&
                       message.find('5') != std::string::npos &&
                       message.find('6') != std::string::npos;
    return named ? std::string() : "not named: " + message;
  }) == "");
}

TEST_CASE("InitAll makes the expected number of ranks only, and splits expect nothing") {
  sparsecollConfig_t config = default_config();
  config.expectedRanks = 3;
  sparsecollComm_t comms[2] = {};
  CHECK(sparsecollCommInitAll(comms, 2, nullptr, &config) == sparsecollInvalidUsage);
  const std::string message = sparsecollGetLastError(nullptr);
  CHECK(message.find("expected 3 ranks, got 2") != std::string::npos);
  const Ranks ranks(3, config);
  CHECK(ranks.run("split", [&](int rank) {
    sparsecollComm_t part = nullptr;
    const sparsecollResult_t got =
        sparsecollCommSplit(ranks.comm(rank), rank % 2, 0, &part, nullptr);
    if (got != sparsecollSuccess) return explain(got, ranks.comm(rank));
    sparsecollCommDestroy(part);
    return std::string();
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
