// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Ok-Topk (Li & Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep Learning, PPoPP 2022)
// with exact selection: the threshold of the sum is found exactly in every call, without gathering.
//
//   1. Cuts. Every `repartition_interval` calls of a shape, and at once when an owner had more than
//      twice the mean load: sum over ranks of a coarse index histogram; cut it in P regions of
//      equal load. (The paper averages the ranks' own quantiles, which one skewed rank defeats.)
//   2. Split and reduce. Send each region's entries to its owner, destinations rotating; the owner
//      adds the P vectors in rank order: its part of s. (Over a bfloat16 wire it rounds the sums,
//      since they travel next, before anything is selected of them. Else, what cannot pass by step
//      3's guess is not even written, and a wrong guess has it add once more.)
//   3. Where the last calls' thresholds hardly moved: what reaches the last one, less twice that
//      move, passes. If that is k or more, as step 4 shows to all ranks, it was enough.
//      Else, exact global threshold. Sum over ranks of a histogram of 256 key ranges, around the
//      last call's threshold first; narrow down to the range that holds the k-th largest, until at
//      most a few entries too many would pass. If equal keys remain: ties go to the lowest index,
//      and regions are in rank order, so an exclusive scan of the ranks' tie counts splits them.
//   4. Allgather the survivors. There is no balance phase.
//   5. If a few too many passed: top-k of the survivors, the same on every rank.
//
// Cost per rank: P - 1 messages in step 2, ceil(log2 P) or P - 1 long ones in step 4, and ceil(log2
// P) to twice that for each sum of counters: none with warm cuts and a good guess, one with a warm
// threshold, two or three without, at most 7 (float32) or 11 (float64) on adversarial data. A bad
// guess costs the adding and step 4 twice, in one of 16 calls at most. k (P - 1) / P entries out in
// step 2 and, with balanced regions, as many in step 4: 4 k (P - 1) / P words before coding,
// against 6 k (P - 1) / P of the paper.
//
// Predicted: reduce_and_gather_seconds() of e and u entries, by cost_model.hpp.
//
// Guarantees: the contract's definition bit for bit, for any P and any data; over a bfloat16 wire
// that of rounded sums.
#include "collectives/oktopk.hpp"

#include <algorithm>
#include <bit>

#include "collectives/building_blocks/allreduce_counts.hpp"
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/network/cost_model.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr int kKeyDigit = 8;  // 256 key ranges a round
/// Calls without a guess after a wrong one, which sent too many entries, or too few in vain.
constexpr uint64_t kExactCalls = 16;

/// How many entries that are in no result a guess may send.
uint64_t surplus_limit(size_t k) { return 16 + k / 16; }

// --- step 3

/// How many of the equal keys this rank may pass: those that are left after the ranks before it.
uint64_t share_ties(Env& env, uint64_t own, uint64_t budget) {
  const auto ties = env.arena.take_span<uint64_t>(static_cast<size_t>(env.call.size()));
  const auto rank = static_cast<size_t>(env.call.rank());
  ties[rank] = own;
  allreduce_counts(env, ties);
  uint64_t before = 0;
  for (size_t r = 0; r < rank; ++r) before += ties[r];
  return before >= budget ? 0 : std::min(own, budget - before);
}

/// Values in [begin, end) have keys that are multiples of two to the power of this: rounded ones
/// have few bits. (But for NaN, next to infinity.)
int spacing(const KeySpace& keys, Precision precision, uint64_t end) {
  const int bits = precision == Precision::bfloat16 ? keys.octave - 7 : 0;
  return keys.end - end > uint64_t{1} << bits ? bits : 0;
}

/// The key ranges of one round: at most 2^kKeyDigit that cover [begin, end), none with fewer than
/// 2^least keys.
KeyBins divide(uint64_t begin, uint64_t end, int least) {
  KeyBins bins{begin,
               std::max(static_cast<int>(std::bit_width(end - begin - 1)) - kKeyDigit, least), 0};
  bins.bins = ((end - begin - 1) >> bins.shift) + 1;
  return bins;
}

/// A sixteenth of an octave: how far around the last threshold this one may be looked for.
uint64_t search_radius(const KeySpace& keys) { return uint64_t{1} << (keys.octave - 4); }

/// What the k largest of all ranks' sums pass, and at most `slack` others. Leaves the k-th key,
/// nearly, in warm.threshold.
Threshold global_threshold(Env& env, const SparseSpan& sum, size_t k, ShapeCache& cache) {
  const KeySpace keys = env.kernels.keys();
  if (k == 0) return {keys.end, 0};
  const uint64_t slack = 16 + k / 128;
  uint64_t begin = 1, end = keys.end;
  if (cache.threshold != 0) {
    const uint64_t reach = search_radius(keys);
    begin = cache.threshold > reach ? cache.threshold - reach : 1;
    end = std::min(cache.threshold + reach, keys.end);
  }
  for (;;) {
    const int space = spacing(keys, sum.precision, end);
    const KeyBins bins = divide(begin, end, space);
    uint64_t* counted = env.kernels.counts(bins.bins + 1);
    env.kernels.key_histogram(sum, bins, counted);
    const auto own = env.arena.take_span<uint64_t>(bins.bins + 1);
    env.kernels.read(counted, own.size(), own.data());
    const auto all = env.arena.take_span<uint64_t>(own.size());
    std::copy(own.begin(), own.end(), all.begin());
    allreduce_counts(env, all);

    uint64_t above = all[bins.bins];
    if (above >= k && bins.end() < keys.end) {  // the last threshold was too low a guess
      begin = bins.end();
      end = keys.end;
      continue;
    }
    size_t b = bins.bins;
    while (b > 0 && above + all[b - 1] < k) above += all[--b];
    if (b == 0) {  // fewer than k keys in this range and above
      cache.threshold = begin;
      if (begin == 1) return Threshold{};
      end = begin;
      begin = 1;
      continue;
    }
    const uint64_t lowest = bins.begin + (uint64_t{b - 1} << bins.shift);
    const uint64_t here = all[b - 1], needed = k - above;
    cache.threshold = lowest;
    if (here - needed <= slack) return {lowest - 1, 0};
    if (bins.shift == space) {  // one key, the only multiple in this range
      if (here - needed > surplus_limit(k))
        cache.exact_calls = kExactCalls;  // a guess would send them all
      const uint64_t key = (((lowest - 1) >> space) + 1) << space;
      return {key, share_ties(env, own[b - 1], needed)};
    }
    begin = lowest;
    end = std::min(lowest + (uint64_t{1} << bins.shift), keys.end);
  }
}

// --- the guess

/// A key below which this call's threshold will hardly be; 0: nobody can tell. Rounded sums stay
/// where they are for a while, and then move by a whole step.
uint64_t predict_threshold(const KeySpace& keys, Precision precision, ShapeCache& cache) {
  if (cache.exact_calls > 0) --cache.exact_calls;
  const uint64_t step = uint64_t{1} << spacing(keys, precision, cache.threshold + 1);
  const uint64_t reach = std::max(2 * cache.threshold_change, step);
  const bool known =
      cache.threshold > 0 && cache.threshold_change > 0 && reach <= search_radius(keys);
  if (!known || cache.exact_calls > 0) return 0;
  return cache.threshold > reach ? cache.threshold - reach : 1;
}

/// What the next guess is made of. `spare` entries were sent beside those that are in the result.
void update_prediction(const Problem& problem, uint64_t last, uint64_t surplus, ShapeCache& cache) {
  if (surplus > surplus_limit(problem.k)) cache.exact_calls = kExactCalls;
  if (last == 0) return;
  const uint64_t moved = std::max(cache.threshold, last) - std::min(cache.threshold, last);
  cache.threshold_change =
      std::max({moved, cache.threshold_change - cache.threshold_change / 8, uint64_t{1}});
}

/// Reserves workspace that only a wrong guess needs, so that a later call with one need not
/// allocate. A wrong guess takes three copies of the survivors of this rank's region, which has
/// `length` indices and at most `own` survivors: the entries, their message and a backend's copy of
/// the sums. It takes three of `all` entries of the result: messages, vectors and the result.
/// Counters and the workspace of a merge add to that.
void reserve_for_wrong_guess(Env& env, uint64_t length, uint64_t own, uint64_t all) {
  constexpr size_t kEntry = 16, kCounters = size_t{1} << 15;
  env.arena.take<std::byte>(3 * kEntry * (own + all) + kCounters +
                            Kernels::merge_workspace(length));
}

}  // namespace

Outcome run_oktopk(Env& env, const Problem& problem, ShapeCache& cache) {
  // 1.
  const std::span<const Region> regions = balanced_regions(env, problem, cache);
  const uint64_t own_length = regions[static_cast<size_t>(env.call.rank())].length();
  // 2.; the owner adds where it is asked for sums
  RegionSum sum(env, problem.local, regions);
  const auto gather = [&](const SparseSpan& part) {
    const uint64_t expected_entries = problem.k == kAll ? cache.result : problem.k;
    const GatheredVector gathered = gather_regions(
        env, {part, sum.load(), std::min(expected_entries, problem.count) / regions.size()},
        regions);
    remember_loads(gathered.numbers, cache);
    return gathered.entries;
  };
  if (problem.k == kAll) {
    const auto& [values, lost] = sum.rounded();
    return {gather(values).span().known(values.precision), lost};
  }
  // 3., 4.
  const Precision precision = env.rounds() ? Precision::bfloat16 : Precision::accumulated;
  const uint64_t last = cache.threshold,
                 predicted = predict_threshold(env.kernels.keys(), precision, cache);
  SparseBuffer all;
  if (predicted > 0) all = gather(sum.reaching(predicted));
  const bool enough = predicted == 1 || (predicted > 0 && all.capacity >= problem.k);
  if (!enough) {
    if (predicted > 0) {
      // What was malformed counts as nothing here, and may be sound elsewhere.
      refuse_malformed(env.kernels.read(env.fault));
      cache.exact_calls = kExactCalls;
    }
    const SparseSpan& values = sum.rounded().values;
    const Threshold threshold = global_threshold(env, values, problem.k, cache);
    all = gather(survivors(env, values, threshold));
    if (predicted == 0) reserve_for_wrong_guess(env, own_length, values.nnz.bound, all.capacity);
  }
  // 5.
  const Stopwatch watch(env.stats, Phase::reduce);
  SparseSpan result = all.span();
  if (all.capacity > problem.k) {
    const SparseBuffer kept = env.kernels.sparse(problem.k);
    env.kernels.top_k(result, problem.k, kept, SparseBuffer{});
    result = kept.span();
  }
  if (all.capacity >= problem.k) cache.threshold = env.kernels.least_key(result);
  update_prediction(problem, last, all.capacity - std::min(all.capacity, problem.k), cache);
  return {result.known(precision), sum.lost()};
}

namespace {

double seconds(const Shape& shape, const Network& network) {
  const EntryCounts entries = entry_counts(shape);
  return reduce_and_gather_seconds(entries.own, entries.result, shape, network);
}

bool suits(const Shape&) { return true; }

}  // namespace

extern constinit const Algorithm kOktopk{.id = AlgorithmId::oktopk,
                                         .run = run_oktopk,
                                         .selection = kSelectTopk,
                                         .seconds = seconds,
                                         .suits = suits};

}  // namespace sparsecoll
