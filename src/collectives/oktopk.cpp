// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Ok-Topk with an exact threshold (Li & Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep
// Learning, PPoPP 2022). The paper's own way, thresholds that are estimated and reused, is in
// oktopk_reuse.cpp.
//
// Rank r of P contributes L_r, which has k entries; s is the sum of all L_r. The result is the
// top-k of s on every rank. A key is a magnitude as an integer (core/numeric.hpp), and so is a
// threshold.
//
//   1. Partition. Divide the indices into P regions of about equal load; rank r owns region r. The
//      regions are kept for `repartition_interval` calls of a shape, or until an owner receives
//      more than twice the mean. New ones come from a histogram of the indices, summed over all
//      ranks. (The paper averages quantiles that each rank computes for itself. One skewed rank
//      defeats that.)
//   2. Split and reduce. Send the entries of each region to its owner, to rank r + 1 first, then to
//      r + 2, ... The owner adds the P vectors in rank order, which gives its region of s. Over a
//      wire that rounds it rounds the sums, because they are sent in step 4.
//   3. Threshold. It decides which sums survive, by one of two ways:
//      a. Predict it, if the thresholds of recent calls changed little. The prediction is the last
//         threshold, less twice the largest recent change. The sums that reach it survive; the
//         owner need not even write the others. If fewer than k survive, which step 4 shows to all
//         ranks, go on with b.
//      b. Find it. Count the sums in at most 256 ranges of keys and add the counts of all ranks.
//         Repeat this within the range of the k-th largest key, until at most 16 + k/128 entries
//         too many survive. The first ranges lie around the last threshold. If equal keys remain,
//         the lowest indices survive: the ranks add their numbers of equal keys, and each passes
//         what the ranks before it leave over.
//   4. Allgather the survivors. (The paper balances them first.)
//   5. Select. If more than k survived, the result is the top-k of them, the same on every rank.
//
// Cost per rank, in messages: P - 1 in step 2; ceil(log2 P), or P - 1 long ones, in step 4; and
// ceil(log2 P) to twice that for each sum of counts. Step 1 takes one sum where regions are new,
// step 3a none, and step 3b one near the last threshold, else two or three, and at most 7 (float32)
// or 11 (float64) on adversarial data. A wrong prediction costs the addition and step 4 once more,
// in one of 16 calls at most.
// In words, before coding: 2 k (P - 1) / P are sent in step 2 and, with balanced regions, as many
// in step 4: 4 k (P - 1) / P in all, against 6 k (P - 1) / P of the paper.
//
// Predicted by network/cost_model.hpp: reduce_and_gather_seconds() of e and u entries.
//
// Guarantees: the definition bit for bit, for any P and any data; over a wire that rounds the
// definition with rounded sums. The cache changes the time of a call, never its result.
#include "collectives/oktopk.hpp"

#include <algorithm>
#include <bit>

#include "collectives/building_blocks/allreduce_counts.hpp"
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/building_blocks/tree_exchange.hpp"
#include "collectives/network/cost_model.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

// --- step 3: keys

/// A range of keys, at least 1: a zero never survives.
struct KeyRange {
  uint64_t begin, end;
};

/// Returns the distance from the last threshold, in keys, within which this threshold is predicted
/// or searched first: a sixteenth of a factor of two.
uint64_t search_radius(const KeySpace& keys) { return uint64_t{1} << (keys.octave - 4); }

/// Returns the exponent of a power of two of which all keys below `end` are multiples. Rounded
/// values have few significant bits. NaN has the key after infinity, which is no multiple, so that
/// the exponent is 0 if `end` is near it.
int key_spacing(const KeySpace& keys, Precision precision, uint64_t end) {
  const bool rounded = precision != Precision::accumulated && !keys.of_blocks;
  const int bits = rounded ? keys.octave - 7 : 0;
  return keys.end - end > uint64_t{1} << bits ? bits : 0;
}

// --- step 3a

/// The number of calls without a prediction that follow a prediction that was wrong or let too many
/// survive.
constexpr uint64_t kExactCalls = 16;

/// Returns how many survivors beyond k a prediction may cause.
uint64_t surplus_limit(size_t k) { return 16 + k / 16; }

/// Returns a key that is very likely a lower bound of this call's threshold, or 0 if there is no
/// prediction.
uint64_t predict_threshold(const KeySpace& keys, Precision precision, ShapeCache& cache) {
  if (cache.exact_calls > 0) --cache.exact_calls;
  // The threshold of rounded sums often stays for a while and then changes by a whole step.
  const uint64_t step = uint64_t{1} << key_spacing(keys, precision, cache.threshold + 1);
  const uint64_t reach = std::max(2 * cache.threshold_change, step);
  const bool known =
      cache.threshold > 0 && cache.threshold_change > 0 && reach <= search_radius(keys);
  if (!known || cache.exact_calls > 0) return 0;
  return cache.threshold > reach ? cache.threshold - reach : 1;
}

/// Stores what the next call's prediction needs. `last` is the threshold of the call before, 0 if
/// there is none; `surplus` is the number of survivors beyond k.
void update_prediction(const Problem& problem, uint64_t last, uint64_t surplus, ShapeCache& cache) {
  if (surplus > surplus_limit(problem.k)) cache.exact_calls = kExactCalls;
  if (last == 0) return;
  const uint64_t change = std::max(cache.threshold, last) - std::min(cache.threshold, last);
  cache.threshold_change =
      std::max({change, cache.threshold_change - cache.threshold_change / 8, uint64_t{1}});
}

/// Reserves workspace that only a wrong prediction needs, so that a later call with one need not
/// allocate. A wrong prediction takes three copies of the survivors of this rank's region, which
/// has `length` indices and at most `own` survivors: the entries, their message and a backend's
/// copy of the sums. It takes three of `all` entries of the result: messages, vectors and the
/// result. Counters and the workspace of a merge add to that.
void reserve_for_wrong_prediction(Env& env, uint64_t length, uint64_t own, uint64_t all) {
  constexpr size_t kCounters = size_t{1} << 15;
  const size_t entry = sizeof(uint64_t) + std::max(env.kernels.value_bytes(1), sizeof(double));
  env.arena.take<std::byte>(3 * entry * (own + all) + kCounters + Kernels::merge_workspace(length));
}

// --- step 3b

/// The number of sums in each range of keys. The last number counts the keys above all ranges.
struct KeyHistogram {
  KeyBins bins;
  std::span<const uint64_t> own;  ///< by range: number of sums in this rank's region
  std::span<const uint64_t> all;  ///< by range: number of sums in all regions
};

/// Divides the keys into at most 256 ranges of 2^spacing keys or more.
KeyBins divide(const KeyRange& keys, int spacing) {
  constexpr int kRangeBits = 8;
  const uint64_t last = keys.end - keys.begin - 1;
  KeyBins bins{keys.begin, std::max(static_cast<int>(std::bit_width(last)) - kRangeBits, spacing),
               0};
  bins.bins = (last >> bins.shift) + 1;
  return bins;
}

/// Counts the sums of all ranks.
KeyHistogram count_keys(Env& env, const SparseSpan& sum, const KeyBins& bins) {
  uint64_t* const counts = env.kernels.counts(bins.bins + 1);
  env.kernels.key_histogram(sum, bins, counts);
  const auto own = env.arena.take_span<uint64_t>(bins.bins + 1);
  env.kernels.read(counts, own.size(), own.data());
  const auto all = env.arena.take_span<uint64_t>(own.size());
  std::copy(own.begin(), own.end(), all.begin());
  allreduce_counts(env, all);
  return {bins, own, all};
}

/// Returns how many of this rank's `own` sums with the k-th largest key survive. All ranks keep
/// `needed` of such sums; the lower ranks come first.
uint64_t share_of_ties(Env& env, uint64_t own, uint64_t needed) {
  const auto ties = env.arena.take_span<uint64_t>(static_cast<size_t>(env.call.size()));
  const auto rank = static_cast<size_t>(env.call.rank());
  ties[rank] = own;
  allreduce_counts(env, ties);
  uint64_t before = 0;
  for (size_t r = 0; r < rank; ++r) before += ties[r];
  return before >= needed ? 0 : std::min(own, needed - before);
}

/// Returns the range of keys around the last threshold, or all keys if there is none.
KeyRange first_range(const KeySpace& keys, uint64_t last) {
  if (last == 0) return {1, keys.end};
  const uint64_t reach = search_radius(keys);
  return {last > reach ? last - reach : 1, std::min(last + reach, keys.end)};
}

/// Finds the threshold that the k largest sums of all ranks pass, and at most 16 + k/128 others.
/// Stores the lowest key that may pass in cache.threshold.
Threshold find_threshold(Env& env, const SparseSpan& sum, size_t k, ShapeCache& cache) {
  const KeySpace keys = env.kernels.keys();
  if (k == 0) return {keys.end, 0};
  for (KeyRange range = first_range(keys, cache.threshold);;) {
    const int spacing = key_spacing(keys, sum.precision, range.end);
    const auto [bins, own, all] = count_keys(env, sum, divide(range, spacing));
    uint64_t above = all[bins.bins];
    if (above >= k && bins.end() < keys.end) {  // The threshold is above this range.
      range = {bins.end(), keys.end};
      continue;
    }
    size_t b = bins.bins;
    while (b > 0 && above + all[b - 1] < k) above += all[--b];
    if (b == 0) {  // The threshold is below this range.
      cache.threshold = range.begin;
      if (range.begin == 1) return Threshold{};  // There are fewer than k sums: all survive.
      range = {1, range.begin};
      continue;
    }
    // The k-th largest key is in bin b - 1.
    const uint64_t lowest = bins.begin + (uint64_t{b - 1} << bins.shift);
    const uint64_t needed = k - above, surplus = all[b - 1] - needed;
    cache.threshold = lowest;
    if (surplus <= 16 + k / 128) return {lowest - 1, 0};
    if (bins.shift == spacing) {  // The bin has one key. Its sums are ties.
      // A prediction near this key would let all ties survive.
      if (surplus > surplus_limit(k)) cache.exact_calls = kExactCalls;
      const uint64_t key = (((lowest - 1) >> spacing) + 1) << spacing;
      return {key, share_of_ties(env, own[b - 1], needed)};
    }
    range = {lowest, std::min(lowest + (uint64_t{1} << bins.shift), keys.end)};
  }
}

}  // namespace

Outcome run_oktopk(Env& env, const Problem& problem, ShapeCache& cache) {
  // 1.
  const std::span<const Region> regions = balanced_regions(env, problem, cache);
  const uint64_t length = regions[static_cast<size_t>(env.call.rank())].length();
  // 2. The entries are sent now. RegionSum adds them when it is asked for a sum.
  const ReceivedVectors received = problem.groups
                                       ? sum_by_tree(env, problem.local, regions, *problem.groups)
                                       : exchange_vectors(env, problem.local, regions);
  RegionSum sum(env, received, length);
  // 4. All ranks also learn the loads of step 2.
  const uint64_t expected = problem.k == kAll ? cache.result : problem.k;
  const auto gather = [&](const SparseSpan& part) {
    const Contribution contribution{part, sum.load(),
                                    std::min(expected, problem.count) / regions.size()};
    const GatheredVector gathered =
        problem.groups ? gather_by_tree(env, contribution, regions, *problem.groups)
                       : gather_regions(env, contribution, regions);
    remember_loads(gathered.numbers, cache);
    return gathered.entries;
  };
  if (problem.k == kAll) {  // Every sum survives, zeros too.
    const auto& [values, lost] = sum.rounded();
    return {gather(values).span().known(env.joined_precision()), lost};
  }
  // 3a. and 4.
  const Precision precision = env.rounded_precision();
  const uint64_t last = cache.threshold;
  const uint64_t predicted = predict_threshold(env.kernels.keys(), precision, cache);
  SparseBuffer gathered;
  if (predicted > 0) gathered = gather(sum.reaching(predicted));
  // Nothing but zeros is below key 1.
  const bool enough = predicted == 1 || (predicted > 0 && gathered.capacity >= problem.k);
  if (!enough) {
    if (predicted > 0) {
      // A malformed message has no entries here, but it may be sound on other ranks, which would
      // not continue with step 3b.
      refuse_malformed(env.kernels.read(env.fault));
      cache.exact_calls = kExactCalls;
    }
    // 3b. and 4.
    const SparseSpan& values = sum.rounded().values;
    const Threshold threshold = find_threshold(env, values, problem.k, cache);
    gathered = gather(survivors(env, values, threshold));
    if (predicted == 0)
      reserve_for_wrong_prediction(env, length, values.nnz.bound, gathered.capacity);
  }
  // 5.
  const Stopwatch watch(env.stats, Phase::reduce);
  SparseSpan result = gathered.span();
  if (gathered.capacity > problem.k) {
    const SparseBuffer kept = env.kernels.sparse(problem.k);
    env.kernels.top_k(result, problem.k, kept, SparseBuffer{});
    result = kept.span();
  }
  if (gathered.capacity >= problem.k) cache.threshold = env.kernels.least_key(result);
  update_prediction(problem, last, gathered.capacity - std::min(gathered.capacity, problem.k),
                    cache);
  return {result.known(env.joined_precision()), sum.lost()};
}

namespace {

double seconds(const ProblemSize& size, const Network& network) {
  const EntryCounts entries = entry_counts(size);
  return reduce_and_gather_seconds(entries.own, entries.result, size, network);
}

bool suits(const ProblemSize&) { return true; }

}  // namespace

extern constinit const Algorithm kOktopk{.id = AlgorithmId::oktopk,
                                         .run = run_oktopk,
                                         .selection = kSelectTopk,
                                         .seconds = seconds,
                                         .suits = suits};

}  // namespace sparsecoll
