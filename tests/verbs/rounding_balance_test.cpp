// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the wires that round values: that no value is lost, in groups either; which values are
// not rounded; how much is sent.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr Mode kOktopkBf16 = over_bf16(kOktopk, "sparseAllreduce/oktopk, bf16");
constexpr Mode kOktopkInt8 = over_int8(kOktopk, "sparseAllreduce/oktopk, int8");
constexpr Mode kAutoBf16 = over_bf16(kAuto, "sparseAllreduce/auto, bf16");

/// Checks that residuals after + delivered = gradients + residuals before, exactly, index by index.
std::string conserve(const Ranks& ranks, const Mode& mode, Kind kind, unsigned calls) {
  const std::size_t n = 257, k = 12;
  const auto residuals = make_residuals<double>(ranks.comms(), n, true);
  std::vector<double> balance(n, 0);
  std::size_t rounded = 0;
  for (unsigned call = 0; call < calls; ++call) {
    const auto sends = make_data_of_all<double>(kind, n, ranks.size(), base_seed() + call);
    std::vector<double> result(n);
    const std::string verdict = ranks.run(mode.name, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<double> recv(n);
      const DenseCall<double> c{sends[r].data(), recv.data(),          n, k,
                                sparsecollSum,   residuals[r].handle()};
      const sparsecollResult_t got = call_dense_verb(mode.verb, c, ranks.comm(rank));
      if (rank == 0) result = recv;
      return expect("the verb", got, sparsecollSuccess, ranks.comm(rank));
    });
    if (!verdict.empty()) return verdict;
    for (std::size_t i = 0; i < n; ++i) {
      for (const auto& send : sends) balance[i] += send[i];
      balance[i] -= result[i];
    }
    std::vector<double> left(n, 0);
    for (const auto& residual : residuals) {
      const std::vector<double> own = residual.read();
      for (std::size_t i = 0; i < n; ++i) {
        left[i] += own[i];
        rounded += result[i] != 0 && own[i] != 0 ? 1 : 0;
      }
    }
    const std::string lost = difference("residuals", left, balance);
    if (!lost.empty())
      return std::string(mode.name) + " P=" + std::to_string(ranks.size()) +
             " data=" + name_of(kind) + " call=" + std::to_string(call) + ": " + lost;
  }
  // Values of more than 8 bits must have been rounded somewhere.
  return kind == Kind::kWideIntegers && rounded == 0 ? "nothing was ever rounded" : "";
}

TEST_CASE("nothing is lost in 50 calls, index by index") {
  std::vector<Mode> modes(std::begin(kRoundingModes), std::end(kRoundingModes));
  // Leaders round the sums of their nodes too; SPARSECOLL_RANKS_PER_NODE says how many they lead.
  modes.push_back(over_bf16(kHierarchical, "sparseAllreduce/hierarchical, bf16"));
  modes.push_back(over_int8(kHierarchical, "sparseAllreduce/hierarchical, int8"));
  for (const Mode& mode : modes) {
    if (mode.residual_rule == sparsecollResidualPaper || mode.algorithm == sparsecollAlgoDense)
      continue;
    for (const int P : rank_counts()) {
      sparsecollConfig_t config = config_of(mode);
      config.repartitionInterval = 7;
      const Ranks ranks(P, config);
      for (const Kind kind : {Kind::kIntegers, Kind::kWideIntegers, Kind::kCancelling,
                              Kind::kOneRegion, Kind::kIdentical}) {
        CHECK(conserve(ranks, mode, kind, small_run() ? 8 : 50) == "");
      }
    }
  }
}

TEST_CASE("without a residual the same is delivered, and what rounding takes is lost") {
  const Ranks ranks(3, config_of(kOktopkBf16));
  CHECK(ranks.run("no residual", [&](int rank) {
    const std::vector<float> send{257.0f, 0.0f, 1.0f};
    std::vector<float> recv(3);
    const std::string verdict = expect(
        "the verb",
        call_dense_verb<float>(Verb::kSparse, {send.data(), recv.data(), 3, 3}, ranks.comm(rank)),
        sparsecollSuccess, ranks.comm(rank));
    // 257 travels as 256, a tie; three of them as 768.
    return verdict.empty() ? difference("result", recv, {768.0f, 0.0f, 3.0f}) : verdict;
  }) == "");
}

/// Checks a group of two calls over a wire that rounds.
void check_group(const Mode& mode) {
  const std::size_t n = 500, k = 20;
  for (const int P : {1, 3, 4, 8}) {
    const Ranks ranks(P, config_of(mode));
    oracle::DenseInputs<float> in{make_data_of_all<float>(Kind::kHeavyTail, n, P, base_seed()), {}};
    in.residuals = make_data_of_all<float>(Kind::kHeavyTail, n, P, base_seed() + 1);
    auto first = make_residuals<float>(ranks.comms(), n, true);
    auto second = make_residuals<float>(ranks.comms(), n, true);
    for (std::size_t r = 0; r < first.size(); ++r) {
      first[r].write(in.residuals[r]);
      second[r].write(in.residuals[r]);
    }
    const auto sum = expected(mode, in, k, oracle::Op::kSum);
    const auto tree = expected(over_wire(mode.wire, kGtopk, "gtopk"), in, k, oracle::Op::kAvg);
    CHECK(ranks.run("a group", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<float> recv(n), other(n);
      const sparsecollResult_t result = in_group(comm, [&] {
        sparseAllreduce(in.sends[r].data(), recv.data(), n, k, sparsecollFloat32, sparsecollSum,
                        first[r].handle(), comm, nullptr);
        gtopkAllreduce(in.sends[r].data(), other.data(), n, k, sparsecollFloat32, sparsecollAvg,
                       second[r].handle(), comm, nullptr);
      });
      std::string wrong = expect("the group", result, sparsecollSuccess, comm);
      if (wrong.empty()) wrong = difference("sum", recv, sum.result);
      if (wrong.empty()) wrong = difference("tree", other, tree.result);
      if (wrong.empty()) wrong = difference("first", first[r].read(), sum.residuals[r]);
      if (wrong.empty()) wrong = difference("second", second[r].read(), tree.residuals[r]);
      return wrong;
    }) == "");
  }
}

TEST_CASE("a group gives what its calls give one by one") {
  check_group(kOktopkBf16);
  check_group(kOktopkInt8);
}

TEST_CASE("sparseAlltoall keeps every bit") {
  for (const int P : {1, 3, 4}) {
    for (const Mode& mode : {kOktopkBf16, kOktopkInt8}) {
      const Ranks ranks(P, config_of(mode));
      for (const AlltoallCase& c : alltoall_cases_of(P, small_run() ? 9 : 3))
        CHECK(ranks.run("exchange", [&](int rank) { return join_case(ranks.comm(rank), c); }) ==
              "");
    }
  }
}

TEST_CASE("integers travel as they are") {
  const std::size_t n = 100;
  for (const Mode& mode :
       {over_bf16(kAllgather, "allgather"), over_bf16(kOktopk, "oktopk"),
        over_bf16(kGtopk, "gtopk"), over_int8(kOktopk, "oktopk"), over_int8(kGtopk, "gtopk")}) {
    const Ranks ranks(3, config_of(mode));
    CHECK(ranks.run(mode.name, [&](int rank) {
      const oracle::Sparse<std::int64_t> entries{{7, 123456789012345 + rank}, {9, -257}};
      const SparseBuffer<std::int64_t> send(n, sparsecollIndex32, entries);
      SparseBuffer<std::int64_t> recv(n, sparsecollIndex32, n);
      const std::string verdict = expect(
          "the verb",
          call_sparse_verb(mode.verb, {send.get(), recv.get(), SPARSECOLL_ALL}, ranks.comm(rank)),
          sparsecollSuccess, ranks.comm(rank));
      return verdict.empty()
                 ? difference("sum", recv.entries(), {{7, 3 * 123456789012345 + 3}, {9, -771}})
                 : verdict;
    }) == "");
  }
}

TEST_CASE("pushSumStep sends values as they are") {
  const std::size_t n = 64;
  std::vector<std::vector<float>> results[3];
  for (const int wire : {sparsecollWireNative, sparsecollWireBf16, sparsecollWireInt8}) {
    sparsecollConfig_t config = default_config();
    config.wire = wire;
    const Ranks ranks(3, config);
    auto x = make_data_of_all<float>(Kind::kHeavyTail, n, 3, base_seed());
    CHECK(ranks.run("push-sum", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      sparsecollPushSum_t state = nullptr;
      sparsecollResult_t result =
          sparsecollPushSumCreate(&state, n, sparsecollFloat32, nullptr, comm);
      for (int step = 0; step < 4 && result == sparsecollSuccess; ++step)
        result = settle(pushSumStep(x[static_cast<std::size_t>(rank)].data(), nullptr, n,
                                    sparsecollFloat32, state, comm, nullptr),
                        comm);
      return expect("a step", result, sparsecollSuccess, comm);
    }) == "");
    results[wire] = x;
  }
  for (const int wire : kRoundingWires)
    for (std::size_t r = 0; r < 3; ++r)
      CHECK(difference("x", results[wire][r], results[sparsecollWireNative][r]) == "");
}

/// Returns the bytes that rank 0 sends in the last of three calls.
std::size_t bytes_sent(const Mode& mode, sparsecollDataType_t type) {
  const int P = 4;
  const Ranks ranks(P, config_of(mode));
  const Case c{base_seed(),      mode, 100000, 1000,  Kind::kHeavyTail,
               oracle::Op::kSum, type, false,  false, 3};
  CHECK(run_case(ranks, c) == "");
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  CHECK(sparsecollCommGetStats(ranks.comm(0), sparsecollStatsLast, &stats) == sparsecollSuccess);
  return stats.bytesSent;
}

TEST_CASE("values take two bytes, or one and a scale") {
  for (const Mode& mode : {kAllgather, kGtopk}) {
    const std::size_t narrow = bytes_sent(over_bf16(mode, mode.name), sparsecollFloat32);
    // Each entry takes two bytes less, and rank 0 sends k entries or more.
    CHECK(bytes_sent(mode, sparsecollFloat32) >= narrow + 2 * 1000);
    CHECK(bytes_sent(mode, sparsecollFloat64) >= narrow + 6 * 1000);
    // Its three messages of k entries each have at most 5 scales.
    CHECK(narrow >= bytes_sent(over_int8(mode, mode.name), sparsecollFloat32) + 1000 - 15);
  }
}

TEST_CASE("what Auto takes does not depend on measurements") {
  // Communicators that would measure again choose the same.
  const Case c{base_seed(), kAutoBf16, 3000, 60, Kind::kHeavyTail};
  std::vector<int> chosen;
  for (int again = 0; again < 3; ++again) {
    const Ranks ranks(4, config_of(kAutoBf16));
    std::vector<float> send = make_data<float>(c.kind, c.n, 0, 1, 1);
    CHECK(ranks.run("auto", [&](int rank) {
      std::vector<float> recv(c.n);
      return expect("the verb",
                    call_dense_verb<float>(Verb::kSparse, {send.data(), recv.data(), c.n, c.k},
                                           ranks.comm(rank)),
                    sparsecollSuccess, ranks.comm(rank));
    }) == "");
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollCommGetStats(ranks.comm(0), sparsecollStatsLast, &stats);
    chosen.push_back(stats.algorithm);
    // Only messages of the call itself were sent, none to measure.
    CHECK(stats.messagesSent < 20);
  }
  CHECK(chosen == std::vector<int>(3, chosen[0]));
}

}  // namespace
}  // namespace sparsecoll::test
