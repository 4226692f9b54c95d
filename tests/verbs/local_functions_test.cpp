// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparsecollTopk and sparsecollScatter alone, and together with a `v` verb, which gives the
// dense verb.

#include <set>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

std::string where(Kind kind, std::size_t n, std::size_t k, int P) {
  return std::string("data='") + name_of(kind) + "' n=" + std::to_string(n) +
         " k=" + std::to_string(k) + " P=" + std::to_string(P);
}

template <class T>
std::string check_topk(sparsecollComm_t comm, Kind kind, std::size_t n, std::size_t k) {
  const std::vector<T> dense = make_data<T>(kind, n, 0, 1, base_seed());
  const auto old = make_data<oracle::Wide<T>>(Kind::kHeavyTail, n, 0, 1, base_seed() + 1);
  for (const bool feedback : {false, true}) {
    for (const int index_type : {sparsecollIndex32, sparsecollIndex64}) {
      Residual<T> residual(comm, n, feedback);
      if (feedback) residual.write(old);
      const auto want = oracle::Oracle<T>::topk(
          dense, feedback ? old : std::vector<oracle::Wide<T>>{}, std::min(k, n));
      SparseBuffer<T> out(n + 3, index_type, std::min(k, n) + 2);
      const sparsecollResult_t result = sparsecollTopk(dense.data(), n, k, kDatatype<T>,
                                                       residual.handle(), out.get(), comm, nullptr);
      std::string verdict = expect("sparsecollTopk", result, sparsecollSuccess, comm);
      if (!verdict.empty()) return verdict;
      if (out.get()->count != n) return "count was not written";
      verdict = difference("selection", out.entries(), want.result);
      if (verdict.empty() && feedback && n > 0) {
        verdict = difference("residual", residual.read(), want.residuals[0]);
      }
      if (!verdict.empty()) return verdict;
    }
  }
  return "";
}

TEST_CASE("sparsecollTopk selects as defined and leaves the rest in the residual") {
  const Ranks ranks(1, default_config());
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : std::set<std::size_t>{0, 1, 2, 63, 64, 65, 1000, 5000}) {
      for (const std::size_t k : interesting_k(n, 4)) {
        INFO(where(kind, n, k, 1));
        CHECK(check_topk<float>(ranks.comm(0), kind, n, k) == "");
        CHECK(check_topk<double>(ranks.comm(0), kind, n, k) == "");
        CHECK(check_topk<oracle::Float16>(ranks.comm(0), kind, n, k) == "");
        CHECK(check_topk<oracle::Bfloat16>(ranks.comm(0), kind, n, k) == "");
      }
    }
  }
}

TEST_CASE("sparsecollTopk is local: one rank may call it alone") {
  const Ranks ranks(3, default_config());
  std::uint64_t sequence = 99;
  CHECK(check_topk<float>(ranks.comm(2), Kind::kHeavyTail, 500, 20) == "");
  CHECK(sparsecollCommGetSequence(ranks.comm(2), &sequence) == sparsecollSuccess);
  CHECK(sequence == 0);
}

template <class T>
std::string check_scatter(sparsecollComm_t comm, SparseKind kind, int index_type) {
  const std::size_t n = 777;
  const auto entries = make_sparse_of_all<T>(kind, n, 2, base_seed())[1];
  const SparseBuffer<T> in(n, index_type, entries);
  std::vector<T> dense(n, static_cast<T>(-5));
  const sparsecollResult_t result = sparsecollScatter(in.get(), dense.data(), comm, nullptr);
  const std::string verdict = expect("sparsecollScatter", result, sparsecollSuccess, comm);
  return verdict.empty() ? difference("dense", dense, oracle::Oracle<T>::scatter(entries, n))
                         : verdict;
}

TEST_CASE("sparsecollScatter fills with zeros and writes +0 and canonical NaNs") {
  const Ranks ranks(1, default_config());
  for (const SparseKind kind : kAllSparseKinds) {
    INFO(name_of(kind));
    for (const int index_type : {sparsecollIndex32, sparsecollIndex64}) {
      CHECK(check_scatter<float>(ranks.comm(0), kind, index_type) == "");
      CHECK(check_scatter<double>(ranks.comm(0), kind, index_type) == "");
      CHECK(check_scatter<oracle::Float16>(ranks.comm(0), kind, index_type) == "");
      CHECK(check_scatter<oracle::Bfloat16>(ranks.comm(0), kind, index_type) == "");
    }
  }
}

struct Region {
  std::size_t begin, end;
};

template <class T>
std::string check_scatter_at(sparsecollComm_t comm, const Region& region, int index_type) {
  const std::size_t n = 777;
  oracle::Sparse<T> within;
  const auto all = make_sparse_of_all<T>(SparseKind::kRandom, n, 2, base_seed());
  for (const auto& entry : all[1])
    if (entry.index >= region.begin && entry.index < region.end) within.push_back(entry);
  const SparseBuffer<T> in(n, index_type, within);
  const auto whole = oracle::Oracle<T>::scatter(within, n);
  const auto at = [&](std::size_t i) { return whole.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t length = region.end - region.begin;
  std::vector<T> dense(length + 1, static_cast<T>(-5));
  std::vector<T> want(at(region.begin), at(region.end));
  want.push_back(static_cast<T>(-5));
  const sparsecollResult_t result =
      sparsecollScatterAt(in.get(), dense.data(), region.begin, length, comm, nullptr);
  return expect("sparsecollScatterAt", settle(result, comm), sparsecollSuccess, comm) +
         difference("dense", dense, want);
}

TEST_CASE("sparsecollScatterAt writes a region of the vector to an array of its own") {
  const Ranks ranks(1, default_config());
  for (const Region& region : {Region{0, 777}, Region{0, 100}, Region{100, 777}, Region{333, 334},
                               Region{0, 0}, Region{777, 777}}) {
    INFO(region.begin << " to " << region.end);
    for (const int index_type : {sparsecollIndex32, sparsecollIndex64}) {
      CHECK(check_scatter_at<float>(ranks.comm(0), region, index_type) == "");
      CHECK(check_scatter_at<double>(ranks.comm(0), region, index_type) == "");
      CHECK(check_scatter_at<oracle::Float16>(ranks.comm(0), region, index_type) == "");
      CHECK(check_scatter_at<oracle::Bfloat16>(ranks.comm(0), region, index_type) == "");
    }
  }
}

/// The result and residual of one rank after a reduction.
template <class T>
struct Held {
  std::vector<T> result;
  std::vector<oracle::Wide<T>> residual;
};

template <class T>
Held<T> reduce_in_steps(const Mode& mode, const std::vector<T>& send, std::size_t k,
                        const Residual<T>& residual, sparsecollComm_t comm) {
  const std::size_t n = send.size();
  SparseBuffer<T> local(n, sparsecollIndex32, std::min(k, n));
  SparseBuffer<T> global(n, sparsecollIndex32, std::min(k, n));
  Held<T> held{std::vector<T>(n), {}};
  sparsecollResult_t result = sparsecollTopk(send.data(), n, k, kDatatype<T>, residual.handle(),
                                             local.get(), comm, nullptr);
  if (result == sparsecollSuccess) {
    result = call_sparse_verb(
        mode.verb, {local.get(), global.get(), k, sparsecollAvg, residual.handle()}, comm);
  }
  if (result == sparsecollSuccess) {
    result = sparsecollScatter(global.get(), held.result.data(), comm, nullptr);
  }
  if (result != sparsecollSuccess) throw std::runtime_error(explain(result, comm));
  if (residual.handle() != nullptr) held.residual = residual.read();
  return held;
}

template <class T>
Held<T> reduce_dense(const Mode& mode, const std::vector<T>& send, std::size_t k,
                     const Residual<T>& residual, sparsecollComm_t comm) {
  const std::size_t n = send.size();
  Held<T> held{std::vector<T>(n), {}};
  const sparsecollResult_t result = call_dense_verb<T>(
      mode.verb, {send.data(), held.result.data(), n, k, sparsecollAvg, residual.handle()}, comm);
  if (result != sparsecollSuccess) throw std::runtime_error(explain(result, comm));
  if (residual.handle() != nullptr) held.residual = residual.read();
  return held;
}

template <class T>
std::string compose(const Ranks& ranks, const Mode& mode, Kind kind, bool feedback) {
  const std::size_t n = 640;
  const std::size_t k = 1 + n * static_cast<std::size_t>(ranks.size()) / 40;
  return ranks.run(std::string(mode.name) + " " + where(kind, n, k, ranks.size()), [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Residual<T> one(comm, n, feedback);
    Residual<T> other(comm, n, feedback);
    if (feedback) {  // values that a 16-bit type must round, and sometimes saturates
      const auto first =
          make_data<oracle::Wide<T>>(Kind::kHeavyTail, n, rank, ranks.size(), base_seed() + 9);
      one.write(first);
      other.write(first);
    }
    for (std::uint64_t call = 0; call < 3; ++call) {
      const auto send = make_data<T>(kind, n, rank, ranks.size(), base_seed() + call);
      const Held<T> steps = reduce_in_steps(mode, send, k, one, comm);
      const Held<T> dense = reduce_dense(mode, send, k, other, comm);
      std::string verdict = difference("result in steps", steps.result, dense.result);
      if (verdict.empty()) verdict = difference("residual", steps.residual, dense.residual);
      if (!verdict.empty()) return verdict;
    }
    return std::string();
  });
}

TEST_CASE("Topk, the v verb and Scatter are the dense verb, bit for bit") {
  std::vector<Mode> modes(std::begin(kTopkModes), std::end(kTopkModes));
  modes.push_back(over_bf16(kAuto, "sparseAllreduce/auto, bf16"));
  for (const Mode& mode : kRoundingModes) {
    if (has_coordinate_form(mode)) modes.push_back(mode);
  }
  for (const int P : rank_counts()) {
    for (const Mode& mode : modes) {
      const Ranks ranks(P, config_of(mode));
      for (const Kind kind : kAllKinds) {
        CHECK(compose<float>(ranks, mode, kind, true) == "");
        CHECK(compose<double>(ranks, mode, kind, P % 2 == 0) == "");
        CHECK(compose<oracle::Float16>(ranks, mode, kind, true) == "");
        CHECK(compose<oracle::Bfloat16>(ranks, mode, kind, true) == "");
      }
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
