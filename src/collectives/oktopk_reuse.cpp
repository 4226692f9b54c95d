// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Ok-Topk with estimated thresholds (Li & Hoefler, Near-Optimal Sparse Allreduce for Distributed
// Deep Learning, PPoPP 2022, algorithms 1 and 2): thresholds are computed now and then and reused.
//
// A threshold is a key: a magnitude as an integer (core/numeric.hpp). Thresholds are *due* in the
// first of `threshold_interval` calls of a shape. A number x is *near* k if k / 4 <= x <= 4 k. To
// *adapt* a threshold to x found entries is to raise it by a step if x > 4/3 k and to lower it by a
// step if x < 2/3 k. A step is 1/64 of a factor of two (0.8% to 1.6%; in the paper's code 0.8% to
// 3.6%).
//
//   1. Select (dense form). When due, L_r is the top-k of acc, and the rank's own threshold is the
//      least magnitude in it. Else L_r is all entries of acc that reach the own threshold, which
//      then adapts to their number. If there is no threshold or their number is not near k, select
//      as when due.
//   2. Partition, as in step 1 of oktopk.cpp.
//   3. Split and reduce, as in step 2 of oktopk.cpp; s is the sum. If a threshold is reused and
//      nothing is rounded, the owner writes only the sums that reach it, and adds once more if step
//      5 needs all.
//   4. Unless the global threshold is due or there is none: the survivors are the entries of s that
//      reach it. Add the ranks' numbers of survivors. If their total N is not near k, continue as
//      when due; else the threshold adapts to N.
//   5. When due: allgather all of s. The result is its top-k; the threshold is the least magnitude
//      in it.
//   6. Else balance: if the largest number of survivors of a rank is above 4 times the mean, number
//      all in index order, and send rank r its share, those from floor(r N / P) to
//      floor((r + 1) N / P).
//   7. Allgather the survivors. They are the result.
//
// Cost per rank, in messages: P - 1 in step 3, ceil(log2 P) to twice that in step 4, at most P - 1
// in step 6, ceil(log2 P) in step 5 or 7. In entries: about k (P - 1) / P each in steps 3, 6 and 7,
// which is 6 k (P - 1) / P words. When due, step 5 sends all of s instead, up to P k entries.
//
// Guarantees: the result is the same bits on every rank: every s[i] that reaches the global
// threshold, between k / 4 and 4 k entries, or the top-k of s. Only a rank's own threshold may
// differ between ranks; it decides only what that rank sends. Sums are in rank order.
#include <algorithm>
#include <optional>

#include "collectives/building_blocks/allreduce_counts.hpp"
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/algorithm.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Returns factor * n, or the largest number if that overflows.
constexpr uint64_t times(uint64_t factor, uint64_t n) {
  return n > kAll / factor ? kAll : factor * n;
}

constexpr bool is_near(uint64_t found, uint64_t k) {
  return found <= times(4, k) && times(4, found) >= k;
}

uint64_t adapt(const KeySpace& keys, uint64_t threshold, uint64_t found, uint64_t k) {
  const uint64_t step = uint64_t{1} << (keys.octave - 6);
  if (times(3, found) > times(4, k)) return std::min(threshold + step, keys.end - 1);
  if (times(3, found) < times(2, k)) return threshold > step ? threshold - step : 1;
  return threshold;
}

// --- step 1

SparseSpan select_above(Env& env, const Gradient& gradient, size_t k, ShapeCache& cache) {
  Kernels& kernels = env.kernels;
  if (cache.threshold_age != 0 && cache.own_threshold != 0) {
    const SparseBuffer reaching = kernels.sparse(std::min<uint64_t>(times(4, k), gradient.count));
    kernels.accumulate_above(gradient, cache.own_threshold, reaching);
    const uint64_t found = kernels.read(reaching.nnz);
    if (is_near(found, k)) {
      cache.own_threshold = adapt(kernels.keys(), cache.own_threshold, found, k);
      return reaching.span();
    }
  }
  const SparseBuffer selected = kernels.sparse(k);
  kernels.accumulate_select(gradient, k, selected);
  cache.own_threshold = kernels.least_key(selected.span());
  return selected.span();
}

Selected select(Env& env, const Gradient& gradient, Problem& problem, ShapeCache& cache) {
  SparseSpan selected;
  {
    const Stopwatch watch(env.stats, Phase::select);
    selected = select_above(env, gradient, problem.k, cache);
  }
  return contribute(env, selected, problem);
}

/// Wraps the cache, and has the regions in which the ranks' shares of the survivors lie.
struct Reuse {
  ShapeCache& cache;
  std::span<Region> regions;
};

// --- step 4

/// The survivors of all ranks, numbered in index order: rank r has [begin[r], begin[r + 1]).
class SurvivorOffsets {
 public:
  SurvivorOffsets(Env& env, uint64_t own) : ranks_(static_cast<size_t>(env.call.size())) {
    const auto counted = env.arena.take_span<uint64_t>(ranks_);
    counted[static_cast<size_t>(env.call.rank())] = own;
    allreduce_counts(env, counted);
    begin_ = env.arena.take_span<uint64_t>(ranks_ + 1);
    if (counted[static_cast<size_t>(env.call.rank())] != own)
      fail(sparsecollRemoteError, "a peer sent malformed counters: expected ", own,
           " survivors of this rank, got ", counted[static_cast<size_t>(env.call.rank())]);
    for (size_t r = 0; r < ranks_; ++r) {
      if (counted[r] > kAll - begin_[r])
        fail(sparsecollRemoteError, "a peer sent malformed counters: too many survivors");
      begin_[r + 1] = begin_[r] + counted[r];
      largest_ = std::max(largest_, counted[r]);
    }
  }

  size_t ranks() const { return ranks_; }
  uint64_t total() const { return begin_[ranks_]; }
  /// Returns whether the largest share is above 4 times the mean.
  bool is_imbalanced() const { return times(ranks_, largest_) > times(4, total()); }
  Region survivors_of(size_t rank) const { return {begin_[rank], begin_[rank + 1]}; }
  Region share_of(size_t rank) const {
    return {even_boundary(total(), ranks_, rank), even_boundary(total(), ranks_, rank + 1)};
  }
  /// Returns the part of rank `to`'s share that rank `from` has; it may be empty.
  Region overlap(size_t from, size_t to) const {
    const Region held = survivors_of(from), share = share_of(to);
    const uint64_t begin = std::max(held.begin, share.begin);
    return {begin, std::max(begin, std::min(held.end, share.end))};
  }

 private:
  size_t ranks_;
  std::span<uint64_t> begin_;
  uint64_t largest_ = 0;
};

// --- step 6

/// Returns the entries [first, first + n) of a vector.
SparseSpan slice(Kernels& kernels, const SparseSpan& in, uint64_t first, uint64_t n) {
  const auto at = [first](const void* array, size_t size) {
    return static_cast<const std::byte*>(array) + first * size;
  };
  uint64_t* nnz = kernels.counts(1);
  kernels.set_count(nnz, n);
  return {at(in.index, size_of(kernels.index_type())),
          at(in.value, size_of(accumulation(kernels.data_type()))),
          {n, nnz},
          in.precision};
}

/// Returns this rank's share of the survivors. Sets `regions` to the regions in which the shares
/// lie.
SparseSpan balance(Env& env, const SparseSpan& survivors, const SurvivorOffsets& offsets,
                   std::span<Region> regions) {
  const size_t ranks = offsets.ranks();
  const auto rank = static_cast<size_t>(env.call.rank());
  const auto pack = [&](size_t to) {
    const Region part = offsets.overlap(rank, to);
    return pack_region(
        env,
        slice(env.kernels, survivors, part.begin - offsets.survivors_of(rank).begin, part.length()),
        regions[rank]);
  };
  const auto transfers = env.arena.take_span<Transfer>(ranks - 1);
  for (size_t i = 1; i < ranks; ++i) {
    const size_t peer = (rank + i) % ranks;
    Transfer& transfer = transfers[i - 1];
    transfer.peer = static_cast<int>(peer);
    if (offsets.overlap(rank, peer).length() > 0) {
      const Bytes message = pack(peer);
      transfer.out = {message.data(), message.size()};
    }
    transfer.in_bound = offsets.overlap(peer, rank).length() > 0 ? kUnknownSize : 0;
  }
  env.call.exchange(transfers);
  const auto messages = env.arena.take_span<Message>(ranks);
  messages[rank].bytes = pack(rank);
  for (const Transfer& transfer : transfers)
    messages[static_cast<size_t>(transfer.peer)].bytes = transfer.in;
  size_t sources = 0;
  for (size_t from = 0; from < ranks; ++from)
    if (offsets.overlap(from, rank).length() > 0)
      messages[sources++] = {messages[from].bytes, regions[from]};
  const ReceivedVectors vectors = unpack_vectors(env, messages.first(sources));
  const SparseBuffer share = env.kernels.sparse(vectors.entries);
  env.kernels.concatenate(vectors.spans, share);

  const auto spanned = env.arena.take_span<Region>(ranks);
  for (size_t to = 0; to < ranks; ++to)
    for (size_t from = 0; from < ranks; ++from)
      if (offsets.overlap(from, to).length() > 0) {
        if (spanned[to].end == 0) spanned[to].begin = regions[from].begin;
        spanned[to].end = regions[from].end;
      }
  std::copy(spanned.begin(), spanned.end(), regions.begin());
  return share.span().known(env.joined_precision());
}

/// Returns this rank's share of the survivors (steps 4 and 6). Returns nothing if step 5 is due, or
/// if the number of survivors is not near k.
std::optional<SparseSpan> select_survivors(Env& env, const Problem& problem, RegionSum& sum,
                                           Reuse& reuse) {
  ShapeCache& cache = reuse.cache;
  if (cache.threshold_age == 0 || cache.reused_threshold == 0) return {};
  // 4.
  const SparseSpan own = sum.reaching(cache.reused_threshold);
  const SurvivorOffsets offsets(env, env.kernels.read(own.nnz.at));
  if (!is_near(offsets.total(), problem.k)) return {};
  cache.reused_threshold =
      adapt(env.kernels.keys(), cache.reused_threshold, offsets.total(), problem.k);
  // 6.
  if (!offsets.is_imbalanced()) return own;
  return balance(env, own, offsets, reuse.regions);
}

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  // 2.
  const std::span<const Region> owned = balanced_regions(env, problem, cache);
  // 3. RegionSum sends the entries now, and adds when it is asked for a sum.
  RegionSum sum(env, problem.local, owned);
  // 4. and 6.
  const auto regions = env.arena.take_span<Region>(owned.size());
  std::copy(owned.begin(), owned.end(), regions.begin());
  Reuse reuse{cache, regions};
  const std::optional<SparseSpan> chosen = select_survivors(env, problem, sum, reuse);
  // 5. or 7.
  const SparseSpan part = chosen ? *chosen : sum.rounded().values;
  const GatheredVector gathered =
      gather_regions(env, {part, sum.load(), problem.k / owned.size()}, regions);
  remember_loads(gathered.numbers, cache);
  cache.threshold_age = (cache.threshold_age + 1) % problem.threshold_interval;
  if (chosen) return {gathered.entries.span(), sum.lost()};
  // 5.
  const Stopwatch watch(env.stats, Phase::reduce);
  const SparseBuffer result = env.kernels.sparse(std::min(problem.k, gathered.entries.capacity));
  env.kernels.top_k(gathered.entries.span(), problem.k, result, SparseBuffer{});
  cache.reused_threshold = env.kernels.least_key(result.span());
  return {result.span(), sum.lost()};
}

}  // namespace

extern constinit const Algorithm kOktopkReuse{
    .id = AlgorithmId::oktopk, .run = run, .selection = {select, put_back_entries}};

}  // namespace sparsecoll
