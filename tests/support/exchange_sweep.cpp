// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/exchange_sweep.hpp"

#include <algorithm>
#include <sstream>

#include "oracle/exchange.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
constexpr std::size_t kRubbish = 0xabad1dea;

struct Backend {
  sparsecollComm_t comm = nullptr;
  int rank = 0;
  int P = 0;
  std::size_t at() const { return static_cast<std::size_t>(rank); }
};

Backend place_of(sparsecollComm_t comm) {
  Backend place{comm};
  if (sparsecollCommRank(comm, &place.rank) != sparsecollSuccess ||
      sparsecollCommCount(comm, &place.P) != sparsecollSuccess) {
    throw std::runtime_error("a communicator without rank or count");
  }
  return place;
}

/// Returns a capacity for all entries, or one that is a little too small.
std::size_t capacity_of(bool too_small, const Backend& place, std::size_t needed) {
  if (too_small && place.rank % 2 == 0 && needed > 0) return needed - 1 - needed / 3;
  return needed + place.at();
}

/// Returns bounds of blocks as bounds of their values.
std::vector<std::size_t> bounds_of_values(std::vector<std::size_t> bounds, std::size_t block) {
  for (std::size_t& bound : bounds) bound *= block;
  return bounds;
}

/// Checks what the call left in `output`. If that was too small, fetches the result twice. The
/// entries of `want` are those of the values of blocks.
template <class T>
std::string compare(const Backend& place, sparsecollResult_t result, SparseBuffer<T>& output,
                    const oracle::Received<T>& want, std::uint64_t count, std::size_t block) {
  const std::size_t needed = want.entries.size() / block;
  const bool fits = output.get()->capacity >= needed;
  std::string verdict =
      expect("the verb", result, fits ? sparsecollSuccess : sparsecollTruncated, place.comm);
  if (!verdict.empty()) return verdict;
  if (output.get()->count != count) return "recv->count = " + std::to_string(output.get()->count);
  if (output.get()->needed != needed) return "recv->needed is wrong";
  if (fits) return difference("recv", output.entries(), want.entries);
  if (output.get()->nnz != 0) return "recv->nnz is not 0 though it was too small";
  for (int time = 0; time < 2; ++time) {
    SparseBuffer<T> larger(0, output.get()->indexType, needed, block);
    std::vector<std::size_t> counts(want.counts.size(), kRubbish);
    const bool ask = !counts.empty() && time == 1;
    verdict = expect(
        "fetch", sparsecollFetch(larger.get(), ask ? counts.data() : nullptr, place.comm, nullptr),
        sparsecollSuccess, place.comm);
    if (verdict.empty()) verdict = difference("fetched", larger.entries(), want.entries);
    if (verdict.empty() && ask) verdict = difference("fetched counts", counts, want.counts);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

template <class T>
std::string join_typed(const Backend& place, const AlltoallCase& c) {
  const auto sends = make_sparse_of_all<T>(c.kind, c.count, place.P, c.seed, c.block);
  const std::vector<std::size_t> bounds = make_bounds(c.bounds, c.count, place.P, c.seed);
  auto want = oracle::alltoall(sends, bounds_of_values(bounds, c.block))[place.at()];
  for (std::size_t& from : want.counts) from /= c.block;
  const SparseBuffer<T> input(c.count, c.index_type, sends[place.at()], c.block);
  SparseBuffer<T> output(c.count + 1, c.index_type,
                         capacity_of(c.too_small, place, want.entries.size() / c.block), c.block);
  const std::vector<std::uint64_t> before = input.image();
  std::vector<std::size_t> counts(static_cast<std::size_t>(place.P), kRubbish);
  const sparsecollResult_t result =
      sparseAlltoall(input.get(), output.get(), c.with_counts ? counts.data() : nullptr,
                     c.bounds == BoundsKind::kNull ? nullptr : bounds.data(), place.comm, nullptr);
  std::string verdict = compare(place, result, output, want, c.count, c.block);
  if (verdict.empty() && c.with_counts) verdict = difference("recvcounts", counts, want.counts);
  if (verdict.empty() && input.image() != before) verdict = "the call wrote to send";
  return verdict;
}

template <class T>
std::string join_typed(const Backend& place, const ReduceScatterCase& c) {
  const std::size_t values = c.n * c.block;
  Residual<T> residual(place.comm, values, c.feedback);
  const std::vector<std::size_t> bounds = make_bounds(c.bounds, c.n, place.P, c.seed),
                                 borders = bounds_of_values(bounds, c.block);
  oracle::DenseInputs<T> in;
  in.block = c.block;
  if (c.feedback) {
    in.residuals =
        make_data_of_all<oracle::Wide<T>>(Kind::kHeavyTail, values, place.P, c.seed + 77);
    residual.write(in.residuals[place.at()]);
  }
  for (int call = 0; call < c.calls; ++call) {
    in.sends = make_data_of_all<T>(c.kind, values, place.P, c.seed + static_cast<unsigned>(call));
    const auto want =
        c.wire != sparsecollWireNative
            ? oracle::WireOracle<T>::reduce_scatter(in, c.k, c.op, borders, oracle_wire(c.wire))
            : oracle::ExchangeOracle<T>::reduce_scatter(in, c.k, c.op, borders);
    const std::vector<T> input = in.sends[place.at()];
    SparseBuffer<T> output(
        c.n + 1, c.index_type,
        capacity_of(c.too_small, place, want.result[place.at()].size() / c.block), c.block);
    const sparsecollResult_t result =
        sparseReduceScatter(input.data(), output.get(), c.n, c.k, kDatatype<T>, op_of(c.op),
                            c.bounds == BoundsKind::kNull ? nullptr : bounds.data(),
                            residual.handle(), place.comm, nullptr);
    std::string verdict = compare(place, result, output,
                                  oracle::Received<T>{want.result[place.at()], {}}, c.n, c.block);
    if (verdict.empty()) verdict = difference("sendbuff", input, in.sends[place.at()]);
    if (verdict.empty() && c.feedback) {
      verdict = difference("residual", residual.read(), want.residuals[place.at()]);
    }
    if (!verdict.empty()) return "call " + std::to_string(call) + ": " + verdict;
    in.residuals = want.residuals;
  }
  return "";
}

}  // namespace

const char* name_of(BoundsKind kind) {
  switch (kind) {
    case BoundsKind::kNull:
      return "NULL";
    case BoundsKind::kRandom:
      return "random";
    case BoundsKind::kEmpty:
      return "empty regions";
    case BoundsKind::kAllFirst:
      return "all to rank 0";
    case BoundsKind::kAllLast:
      return "all to the last rank";
  }
  return "?";
}

std::vector<std::size_t> bounds_on_first_node(std::uint64_t count, std::size_t P,
                                              const std::vector<int>& nodes) {
  const auto shards = oracle::shards_of(count, P, nodes);
  std::vector<std::size_t> bounds{0};
  for (std::size_t r = 0; r < P; ++r) {
    const bool on_first = nodes.empty() || nodes[r] == nodes[0];
    bounds.push_back(on_first ? std::max(bounds.back(), shards[r].end) : bounds.back());
  }
  return bounds;
}

std::vector<std::size_t> make_bounds(BoundsKind kind, std::uint64_t count, int P,
                                     std::uint64_t seed) {
  const auto ranks = static_cast<std::size_t>(P);
  std::vector<std::size_t> bounds = oracle::even_bounds(count, ranks);
  for (std::size_t r = 1; r < ranks; ++r) {
    switch (kind) {
      case BoundsKind::kNull:
        break;
      case BoundsKind::kRandom:
        bounds[r] = count == 0 ? 0 : noise(seed, r, 99) % count;
        break;
      case BoundsKind::kEmpty:
        if (r % 2 == 1) bounds[r] = bounds[r - 1];
        break;
      case BoundsKind::kAllFirst:
        bounds[r] = count;
        break;
      case BoundsKind::kAllLast:
        bounds[r] = 0;
        break;
    }
  }
  std::sort(bounds.begin(), bounds.end());
  return bounds;
}

std::string join_case(sparsecollComm_t comm, const AlltoallCase& c) {
  const Backend place = place_of(comm);
  const std::string verdict =
      with_any_type(c.type, [&](auto zero) { return join_typed<decltype(zero)>(place, c); });
  if (verdict.empty()) return "";
  std::ostringstream out;
  out << "sparseAlltoall seed=" << c.seed << " P=" << place.P << " count=" << c.count << " "
      << name_of(c.type) << " index type " << c.index_type << " data='" << name_of(c.kind)
      << "' bounds='" << name_of(c.bounds) << "'" << (c.too_small ? " too small" : "")
      << " blocks of " << c.block << ": " << verdict;
  return out.str();
}

std::string join_case(sparsecollComm_t comm, const ReduceScatterCase& c) {
  const Backend place = place_of(comm);
  const std::string verdict =
      with_type(c.type, [&](auto zero) { return join_typed<decltype(zero)>(place, c); });
  if (verdict.empty()) return "";
  std::ostringstream out;
  out << "sparseReduceScatter seed=" << c.seed << " P=" << place.P << " n=" << c.n << " k=" << c.k
      << " " << name_of(c.type) << " " << name_of(c.op) << " index type " << c.index_type
      << " data='" << name_of(c.kind) << "' bounds='" << name_of(c.bounds) << "'"
      << (c.feedback ? " feedback" : "") << (c.too_small ? " too small" : "") << " blocks of "
      << c.block << ": " << verdict;
  return out.str();
}

std::vector<AlltoallCase> alltoall_cases_of(int P, std::uint64_t thinning) {
  std::vector<AlltoallCase> cases;
  std::uint64_t number = base_seed() * 3000017;
  for (const SparseKind kind : kAllSparseKinds) {
    for (const BoundsKind bounds : kAllBoundsKinds) {
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1},
                                        static_cast<std::uint64_t>(P), std::uint64_t{1000}, kFar}) {
        const std::uint64_t h = noise(++number, static_cast<std::uint64_t>(P));
        if (h % thinning != 0) continue;
        const bool narrow = count != kFar && (h & 128) != 0;
        cases.push_back({number, count, kind, bounds, any_type(h >> 9),
                         narrow ? sparsecollIndex32 : sparsecollIndex64, (h & 256) != 0,
                         h % 3 == 0});
      }
    }
  }
  return cases;
}

std::vector<ReduceScatterCase> reduce_scatter_cases_of(int P, std::uint64_t thinning) {
  std::vector<ReduceScatterCase> cases;
  std::uint64_t number = base_seed() * 4000037;
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, static_cast<std::size_t>(P), std::size_t{1000}}) {
      for (const std::size_t k : interesting_k(n, P)) {
        const std::uint64_t h = noise(++number, static_cast<std::uint64_t>(P));
        if (h % thinning != 0) continue;
        const bool feedback = (h & 64) != 0;
        cases.push_back({number, n, k, kind, kAllBoundsKinds[(h >> 20) % 5],
                         (h & 16) != 0 ? oracle::Op::kAvg : oracle::Op::kSum, some_type(h >> 9),
                         (h & 128) != 0 ? sparsecollIndex32 : sparsecollIndex64, feedback,
                         h % 3 == 0, feedback ? 3 : 1});
      }
    }
  }
  return cases;
}

}  // namespace sparsecoll::test
