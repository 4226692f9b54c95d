// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/sweep.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "support/compare.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

/// Makes one call of a dense verb on one rank and compares it with the oracle.
template <class T>
std::string call_and_compare(const Case& c, sparsecollComm_t comm, const std::vector<T>& send,
                             const oracle::DenseOutcome<T>& want, std::size_t rank,
                             const Residual<T>& residual) {
  std::vector<T> input = send;
  std::vector<T> recv(send.size(), static_cast<T>(-77));
  T* const output = c.in_place ? input.data() : recv.data();
  const DenseCall<T> call{input.data(), output, c.n, c.k, op_of(c.op), residual.handle()};
  const sparsecollResult_t result = call_dense_verb(c.mode.verb, call, comm);
  std::string verdict = expect("the verb", result, sparsecollSuccess, comm);
  if (!verdict.empty()) return verdict;
  verdict = difference("result", c.in_place ? input : recv, want.result);
  if (verdict.empty() && !c.in_place) verdict = difference("sendbuff", input, send);
  if (verdict.empty() && c.feedback) {
    verdict = difference("residual", residual.read(), want.residuals[rank]);
  }
  return verdict;
}

/// Returns zeros, as in new residuals. For 16-bit types every second case has values that these
/// cannot hold, so that sending leaves a remainder.
template <class T>
oracle::PerRank<std::vector<oracle::Wide<T>>> first_residuals(const Case& c, int P) {
  if (oracle::kIsHalf<T> && c.seed % 2 == 0)
    return make_data_of_all<oracle::Wide<T>>(Kind::kHeavyTail, c.n, P, c.seed + 77);
  return {static_cast<std::size_t>(P), std::vector<oracle::Wide<T>>(c.n, 0)};
}

template <class T>
std::string run_typed(const Ranks& ranks, const Case& c) {
  std::vector<Residual<T>> residuals = make_residuals<T>(ranks.comms(), c.n, c.feedback);
  oracle::DenseInputs<T> in;
  if (c.feedback) in.residuals = first_residuals<T>(c, ranks.size());
  for (std::size_t r = 0; r < in.residuals.size(); ++r) residuals[r].write(in.residuals[r]);
  for (int call = 0; call < c.calls; ++call) {
    in.sends = make_data_of_all<T>(c.kind, c.n, ranks.size(), c.seed + static_cast<unsigned>(call));
    const oracle::DenseOutcome<T> want = expected(c.mode, in, c.k, c.op);
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
std::string join_typed(sparsecollComm_t comm, const Case& c) {
  int rank = 0;
  int P = 0;
  if (sparsecollCommRank(comm, &rank) != sparsecollSuccess) return "no rank";
  if (sparsecollCommCount(comm, &P) != sparsecollSuccess) return "no count";
  const auto r = static_cast<std::size_t>(rank);
  Residual<T> residual(comm, c.n, c.feedback);
  oracle::DenseInputs<T> in;
  if (c.feedback) in.residuals = first_residuals<T>(c, P);
  if (c.feedback) residual.write(in.residuals[r]);
  for (int call = 0; call < c.calls; ++call) {
    in.sends = make_data_of_all<T>(c.kind, c.n, P, c.seed + static_cast<unsigned>(call));
    const oracle::DenseOutcome<T> want = expected(c.mode, in, c.k, c.op);
    const std::string verdict = call_and_compare(c, comm, in.sends[r], want, r, residual);
    if (!verdict.empty()) {
      return describe(c, P) + " call=" + std::to_string(call) + ": " + verdict;
    }
    in.residuals = want.residuals;
  }
  return "";
}

}  // namespace

sparsecollDataType_t some_type(std::uint64_t h) {
  constexpr sparsecollDataType_t kTypes[] = {sparsecollFloat32, sparsecollFloat64,
                                             sparsecollFloat16, sparsecollBfloat16};
  return kTypes[h % 4];
}

sparsecollDataType_t any_type(std::uint64_t h) {
  if (h % 6 == 4) return sparsecollInt32;
  if (h % 6 == 5) return sparsecollInt64;
  return some_type(h % 6);
}

std::string describe(const Case& c, int P) {
  std::ostringstream out;
  out << c.mode.name << " seed=" << c.seed << " P=" << P << " n=" << c.n << " k=" << c.k << " "
      << name_of(c.type) << " " << name_of(c.op) << " data='" << name_of(c.kind) << "'"
      << (c.feedback ? " feedback" : "") << (c.in_place ? " in-place" : "");
  return out.str();
}

std::string run_case(const Ranks& ranks, const Case& c) {
  return with_type(c.type, [&](auto zero) { return run_typed<decltype(zero)>(ranks, c); });
}

std::string join_case(sparsecollComm_t comm, const Case& c) {
  return with_type(c.type, [&](auto zero) { return join_typed<decltype(zero)>(comm, c); });
}

std::vector<std::size_t> interesting_k(std::size_t n, int P) {
  const std::set<std::size_t> all{
      0, 1, static_cast<std::size_t>(P - 1), 7, n / 100, n + 5, SPARSECOLL_ALL};
  return {all.begin(), all.end()};
}

std::vector<Case> cases_of(const Mode& mode, int P, std::uint64_t thinning) {
  const std::set<std::size_t> lengths{0, 1, static_cast<std::size_t>(P - 1),
                                      static_cast<std::size_t>(P), 1000};
  std::vector<Case> cases;
  std::uint64_t number = base_seed() * 1000003;
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : lengths) {
      for (const std::size_t k : interesting_k(n, P)) {
        const std::uint64_t h = noise(++number, static_cast<std::uint64_t>(P));
        if (h % thinning != 0) continue;
        const bool feedback = (h & 256) != 0;
        cases.push_back({number, mode, n, k, kind,
                         (h & 16) != 0 ? oracle::Op::kAvg : oracle::Op::kSum, some_type(h >> 5),
                         feedback, (h & 128) != 0, feedback ? 3 : 1});
      }
    }
  }
  return cases;
}

std::string sweep(const Mode& mode, int P) {
  const Ranks ranks(P, config_of(mode));
  for (const Case& c : cases_of(mode, P, small_run() ? 5 : 1)) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

}  // namespace sparsecoll::test
