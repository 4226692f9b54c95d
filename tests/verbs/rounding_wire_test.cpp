// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares every verb over the wires that round values with its definition, bit for bit, on every
// rank.

#include "oracle/reuse.hpp"
#include "oracle/wire.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

template <class C>
std::string run_all(const Ranks& ranks, const std::vector<C>& cases) {
  for (const C& c : cases) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

TEST_CASE("verbs in dense form are their definitions of rounded values") {
  for (const Mode& mode : kRoundingModes) {
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_of(mode));
      CHECK(run_all(ranks, cases_of(mode, P, small_run() ? 7 : 4)) == "");
    }
  }
}

TEST_CASE("verbs in coordinate form are their definitions of rounded values") {
  for (const Mode& mode : kRoundingModes) {
    if (!has_coordinate_form(mode)) continue;
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_of(mode));
      CHECK(run_all(ranks, sparse_cases_of(mode, P, small_run() ? 7 : 4)) == "");
    }
  }
}

TEST_CASE("sparseReduceScatter rounds what is sent, and no sum") {
  for (const int wire : kRoundingWires) {
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config_of(over_wire(wire, kOktopk, "oktopk")));
      for (ReduceScatterCase c : reduce_scatter_cases_of(P, small_run() ? 9 : 3)) {
        c.wire = wire;
        const std::string verdict =
            ranks.run("exchange", [&](int rank) { return join_case(ranks.comm(rank), c); });
        CHECK(verdict == "");
        if (!verdict.empty()) return;
      }
    }
  }
}

/// Makes calls in a row with reused thresholds, in dense or in coordinate form.
template <class T>
std::string check_reuse(int P, int wire, Kind kind, bool coordinate_form) {
  const std::size_t n = 600, k = 40;
  const Mode mode = over_wire(wire, kReuse, "reuse");
  sparsecollConfig_t config = config_of(mode);
  config.thresholdInterval = 5;
  const Ranks ranks(P, config);
  const auto residuals = make_residuals<T>(ranks.comms(), n, true);
  oracle::ReuseReplay<T> replay(static_cast<std::size_t>(P), k, 5, oracle_wire(wire));
  oracle::PerRank<std::vector<oracle::Wide<T>>> held(static_cast<std::size_t>(P),
                                                     std::vector<oracle::Wide<T>>(n, 0));
  for (unsigned call = 0; call < 12; ++call) {
    const auto dense = make_data_of_all<T>(kind, n, P, base_seed() + call);
    const auto sparse = make_sparse_of_all<T>(SparseKind::kHeavyTail, n, P, base_seed() + call);
    oracle::DenseOutcome<T> want;
    oracle::SparseOutcome<T> want_v;
    if (coordinate_form)
      want_v = replay.sparse_allreducev({sparse, held}, oracle::Op::kSum);
    else
      want = replay.sparse_allreduce({dense, held}, oracle::Op::kSum);
    held = coordinate_form ? want_v.residuals : want.residuals;
    const std::string verdict = ranks.run("reuse", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<T> recv(n);
      SparseBuffer<T> out(n, sparsecollIndex32, n);
      const SparseBuffer<T> in(n, sparsecollIndex32, sparse[r]);
      const sparsecollResult_t result =
          coordinate_form
              ? call_sparse_verb(Verb::kSparse,
                                 {in.get(), out.get(), k, sparsecollSum, residuals[r].handle()},
                                 ranks.comm(rank))
              : call_dense_verb<T>(
                    Verb::kSparse,
                    {dense[r].data(), recv.data(), n, k, sparsecollSum, residuals[r].handle()},
                    ranks.comm(rank));
      std::string wrong = expect("the verb", result, sparsecollSuccess, ranks.comm(rank));
      if (wrong.empty())
        wrong = coordinate_form ? difference("recv", out.entries(), want_v.result)
                                : difference("result", recv, want.result);
      if (wrong.empty()) wrong = difference("residual", residuals[r].read(), held[r]);
      return wrong;
    });
    if (!verdict.empty()) return verdict + " call=" + std::to_string(call);
  }
  return replay.reused() > 0 ? "" : "thresholds were never reused";
}

TEST_CASE("thresholds are reused of rounded sums") {
  for (const int P : rank_counts()) {
    CAPTURE(P);
    for (const int wire : kRoundingWires) {
      for (const bool coordinate_form : {false, true}) {
        CHECK(check_reuse<float>(P, wire, Kind::kHeavyTail, coordinate_form) == "");
        CHECK(check_reuse<double>(P, wire, Kind::kWideIntegers, coordinate_form) == "");
        CHECK(check_reuse<oracle::Float16>(P, wire, Kind::kHeavyTail, coordinate_form) == "");
        CHECK(check_reuse<oracle::Bfloat16>(P, wire, Kind::kHeavyTail, coordinate_form) == "");
      }
    }
  }
}

TEST_CASE("what survives on one rank is balanced as it travels") {
  // Large values in one block, which moves every second call: its owner has all survivors.
  const std::size_t n = 4000, k = 120;
  for (const auto& [wire, P] : {std::pair{sparsecollWireBf16, 5},
                                {sparsecollWireBf16, 8},
                                {sparsecollWireInt8, 5},
                                {sparsecollWireInt8, 8}}) {
    const Ranks ranks(P, config_of(over_wire(wire, kReuse, "reuse")));
    oracle::ReuseReplay<float> replay(static_cast<std::size_t>(P), k, 32, oracle_wire(wire));
    for (std::uint64_t call = 0; call < 8; ++call) {
      oracle::DenseInputs<float> in;
      in.sends = make_data_of_all<float>(Kind::kWideIntegers, n, P, base_seed() + call);
      const std::size_t begin = call / 2 * 700 % n;
      for (auto& send : in.sends)
        for (std::size_t i = 0; i < n; ++i)
          send[i] *= i >= begin && i < begin + 150 ? 1000.0f : 1e-3f;
      const auto want = replay.sparse_allreduce(in, oracle::Op::kSum);
      CHECK(ranks.run("moving block", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<float> recv(n);
        const std::string verdict =
            expect("the verb",
                   call_dense_verb<float>(Verb::kSparse, {in.sends[r].data(), recv.data(), n, k},
                                          ranks.comm(rank)),
                   sparsecollSuccess, ranks.comm(rank));
        return verdict.empty() ? difference("result", recv, want.result) : verdict;
      }) == "");
    }
    CHECK(replay.reused() > 0);
  }
}

}  // namespace
}  // namespace sparsecoll::test
