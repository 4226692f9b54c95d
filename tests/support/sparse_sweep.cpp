// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <sstream>

#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

template <class T>
std::string call_and_compare(const SparseCase& c, sparsecollComm_t comm,
                             const oracle::Sparse<T>& send, const oracle::SparseOutcome<T>& want,
                             std::size_t rank, const Residual<T>& residual) {
  const SparseBuffer<T> input(c.count, c.index_type, send, c.block);
  // The output has more room than needed, and a count that the call must overwrite.
  SparseBuffer<T> output(c.count + 1, c.index_type, want.result.size() / c.block + rank, c.block);
  const std::vector<std::uint64_t> before = input.image();
  const SparseCall call{input.get(), output.get(), c.k, op_of(c.op), residual.handle()};
  const sparsecollResult_t result = call_sparse_verb(c.mode.verb, call, comm);
  std::string verdict = expect("the verb", result, sparsecollSuccess, comm);
  if (!verdict.empty()) return verdict;
  if (output.get()->count != c.count) return "recv->count = " + std::to_string(output.get()->count);
  if (output.get()->nnz > output.get()->capacity) return "recv->nnz is above recv->capacity";
  verdict = difference("recv", output.entries(), want.result);
  if (verdict.empty() && input.image() != before) verdict = "the call wrote to send";
  if (verdict.empty() && c.feedback) {
    verdict = difference("residual", residual.read(), want.residuals[rank]);
  }
  return verdict;
}

template <class T>
std::string run_typed(const Ranks& ranks, const SparseCase& c) {
  const auto P = static_cast<std::size_t>(ranks.size());
  std::vector<Residual<T>> residuals =
      make_residuals<T>(ranks.comms(), c.count * c.block, c.feedback);
  oracle::SparseInputs<T> in;
  in.block = c.block;
  in.count = c.count;
  if (c.feedback) {
    // The residuals are not zeros: the `v` verbs must add to them, and leave the rest alone.
    in.residuals = make_data_of_all<oracle::Wide<T>>(Kind::kWideIntegers, c.count * c.block,
                                                     ranks.size(), c.seed);
    for (std::size_t r = 0; r < P; ++r) residuals[r].write(in.residuals[r]);
  }
  for (int call = 0; call < c.calls; ++call) {
    in.sends = make_sparse_of_all<T>(c.kind, c.count, ranks.size(),
                                     c.seed + static_cast<unsigned>(call), c.block);
    const oracle::SparseOutcome<T> want = expected(c.mode, in, c.k, c.op);
    const std::string what = describe(c, ranks.size()) + " call=" + std::to_string(call);
    const std::string verdict = ranks.run(what, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      return call_and_compare(c, ranks.comm(rank), in.sends[r], want, r, residuals[r]);
    });
    if (!verdict.empty()) return verdict;
    in.residuals = want.residuals;
  }
  return "";
}

/// Runs a case as run_typed() does, on one rank.
template <class T>
std::string join_typed(sparsecollComm_t comm, const SparseCase& c) {
  int rank = 0;
  int P = 0;
  if (sparsecollCommRank(comm, &rank) != sparsecollSuccess) return "no rank";
  if (sparsecollCommCount(comm, &P) != sparsecollSuccess) return "no count";
  const auto r = static_cast<std::size_t>(rank);
  Residual<T> residual(comm, c.count * c.block, c.feedback);
  oracle::SparseInputs<T> in;
  in.block = c.block;
  in.count = c.count;
  if (c.feedback) {
    in.residuals =
        make_data_of_all<oracle::Wide<T>>(Kind::kWideIntegers, c.count * c.block, P, c.seed);
    residual.write(in.residuals[r]);
  }
  for (int call = 0; call < c.calls; ++call) {
    in.sends =
        make_sparse_of_all<T>(c.kind, c.count, P, c.seed + static_cast<unsigned>(call), c.block);
    const oracle::SparseOutcome<T> want = expected(c.mode, in, c.k, c.op);
    const std::string verdict = call_and_compare(c, comm, in.sends[r], want, r, residual);
    if (!verdict.empty()) {
      return describe(c, P) + " call=" + std::to_string(call) + ": " + verdict;
    }
    in.residuals = want.residuals;
  }
  return "";
}

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;

}  // namespace

std::string describe(const SparseCase& c, int P) {
  std::ostringstream out;
  out << c.mode.name << " v seed=" << c.seed << " P=" << P << " count=" << c.count << " k=" << c.k
      << " " << name_of(c.type) << " "
      << (c.index_type == sparsecollIndex32 ? "index32" : "index64") << " " << name_of(c.op)
      << " data='" << name_of(c.kind) << "'" << (c.feedback ? " feedback" : "");
  if (c.block > 1) out << " blocks of " << c.block;
  return out.str();
}

std::string run_case(const Ranks& ranks, const SparseCase& c) {
  return with_type(c.type, [&](auto zero) { return run_typed<decltype(zero)>(ranks, c); });
}

std::string join_case(sparsecollComm_t comm, const SparseCase& c) {
  return with_type(c.type, [&](auto zero) { return join_typed<decltype(zero)>(comm, c); });
}

std::vector<SparseCase> sparse_cases_of(const Mode& mode, int P, std::uint64_t thinning) {
  const std::set<std::uint64_t> counts{0, 1, static_cast<std::uint64_t>(P), 1000, kFar};
  std::vector<SparseCase> cases;
  std::uint64_t number = base_seed() * 2000003;
  for (const SparseKind kind : kAllSparseKinds) {
    for (const std::uint64_t count : counts) {
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{60},
                                  std::size_t{2003}, SPARSECOLL_ALL}) {
        const std::uint64_t h = noise(++number, static_cast<std::uint64_t>(P));
        if (h % thinning != 0) continue;
        const bool feedback = count != kFar && (h & 256) != 0;
        const bool narrow = count != kFar && (h & 128) != 0;
        cases.push_back({number, mode, count, k, kind,
                         (h & 16) != 0 ? oracle::Op::kAvg : oracle::Op::kSum, some_type(h >> 5),
                         narrow ? sparsecollIndex32 : sparsecollIndex64, feedback,
                         feedback ? 2 : 1});
      }
    }
  }
  return cases;
}

std::vector<SparseCase> block_cases_of(const Mode& mode, int P, std::uint64_t thinning) {
  std::vector<SparseCase> cases;
  std::uint64_t number = base_seed() * 3000017;
  for (const SparseKind kind : kAllSparseKinds) {
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{150}, std::uint64_t{5000}, kFar}) {
      for (const std::size_t block : {std::size_t{2}, std::size_t{5}, std::size_t{64}}) {
        if (kind == SparseKind::kFull && block == 64) continue;  // the oracle would take long
        const std::uint64_t h = noise(++number, static_cast<std::uint64_t>(P));
        if (h % thinning != 0) continue;
        const std::size_t ks[] = {
            0, 1, 7, 60, 2003, SPARSECOLL_ALL, SPARSECOLL_ALL, SPARSECOLL_ALL};
        SparseCase c{number, mode, count, ks[(h >> 20) % 8], kind};
        c.block = block;
        if (mode.residual_rule == sparsecollResidualPaper) c.k = SPARSECOLL_ALL;  // else refused
        c.op = (h & 16) != 0 ? oracle::Op::kAvg : oracle::Op::kSum;
        c.type = some_type(h >> 5);
        c.index_type = count != kFar && (h & 128) != 0 ? sparsecollIndex32 : sparsecollIndex64;
        c.feedback = count <= 150 && (h & 256) != 0;
        c.calls = c.feedback ? 2 : 1;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

std::string block_sweep(const Mode& mode, int P) {
  const Ranks ranks(P, config_of(mode));
  for (const SparseCase& c : block_cases_of(mode, P, small_run() ? 5 : 1)) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

std::string sparse_sweep(const Mode& mode, int P) {
  const Ranks ranks(P, config_of(mode));
  for (const SparseCase& c : sparse_cases_of(mode, P, small_run() ? 5 : 1)) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

}  // namespace sparsecoll::test
