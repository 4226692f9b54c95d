// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Ok-Topk (Li & Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep Learning, PPoPP 2022)
// with exact selection: the threshold of the sum is found exactly in every call, without gathering.
//
//   1. Cuts. Every `repartition_interval` calls of a shape, and at once when an owner had more than
//      twice the mean load: sum over ranks of a coarse index histogram; cut it in P regions of
//      equal load. (The paper averages the ranks' own quantiles, which one skewed rank defeats.)
//   2. Split and reduce. Send each region's entries to its owner, destinations rotating; the owner
//      adds the P pieces in rank order: its part of s.
//   3. Exact global threshold. Sum over ranks of a histogram of 256 key ranges, around the last
//      call's threshold first; narrow down to the range that holds the k-th largest, until at most
//      a few entries too many would pass. If equal keys remain: ties go to the lowest index, and
//      regions are in rank order, so an exclusive scan of the ranks' tie counts splits them.
//   4. Allgather the survivors (Bruck, any sizes). There is no balance phase.
//   5. If a few too many passed: top-k of the survivors, the same on every rank.
//
// Cost per rank: P - 1 messages in step 2, ceil(log2 P) in step 4, and ceil(log2 P) to twice that
// for each sum of counters: one sum with warm cuts and a warm threshold, two or three without, at
// most 7 (float32) or 11 (float64) on adversarial data. k (P - 1) / P entries out in step 2 and,
// with balanced regions, as many in step 4: 4 k (P - 1) / P words before coding, against
// 6 k (P - 1) / P of the paper.
//
// Guarantees: the contract's definition bit for bit, for any P and any data.
#include <algorithm>
#include <bit>

#include "collectives/algorithm.hpp"
#include "collectives/regions.hpp"

namespace sparsecoll {

namespace {

constexpr int kKeyDigit = 8;  // 256 key ranges a round

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

/// The key ranges of one round: at most 2^kKeyDigit that cover [begin, end).
KeyBins divide(uint64_t begin, uint64_t end) {
  KeyBins bins{begin, std::max(static_cast<int>(std::bit_width(end - begin - 1)) - kKeyDigit, 0),
               0};
  bins.bins = ((end - begin - 1) >> bins.shift) + 1;
  return bins;
}

/// What the k largest of all ranks' sums pass, and at most `slack` others. Leaves the k-th key,
/// nearly, in warm.threshold.
Threshold global_threshold(Env& env, const SparseSpan& sum, size_t k, Warm& warm) {
  const KeySpace keys = env.kernels.keys();
  if (k == 0) return {keys.end, 0};
  const uint64_t slack = 16 + k / 128;
  uint64_t begin = 1, end = keys.end;
  if (warm.threshold != 0) {  // a sixteenth of an octave around the last one
    const uint64_t reach = uint64_t{1} << (keys.octave - 4);
    begin = warm.threshold > reach ? warm.threshold - reach : 1;
    end = std::min(warm.threshold + reach, keys.end);
  }
  for (;;) {
    const KeyBins bins = divide(begin, end);
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
      warm.threshold = begin;
      if (begin == 1) return Threshold{};
      end = begin;
      begin = 1;
      continue;
    }
    const uint64_t lowest = bins.begin + (uint64_t{b - 1} << bins.shift);
    const uint64_t here = all[b - 1], needed = k - above;
    warm.threshold = lowest;
    if (here - needed <= slack) return {lowest - 1, 0};
    if (bins.shift == 0) return {lowest, share_ties(env, own[b - 1], needed)};
    begin = lowest;
    end = std::min(lowest + (uint64_t{1} << bins.shift), keys.end);
  }
}

}  // namespace

Outcome oktopk(Env& env, const Problem& problem, Warm& warm) {
  // 1.
  const std::span<const Region> regions = balanced_regions(env, problem, warm);
  // 2.
  const Share share = reduce_regions(env, problem.local, regions);
  SparseSpan part = share.sum;
  // 3.
  if (problem.k != kAll) {
    const Threshold threshold = global_threshold(env, part, problem.k, warm);
    const Stopwatch watch(env.stats.reduce_seconds);
    const SparseBuffer survivors = env.kernels.sparse(part.nnz.bound);
    env.kernels.above(part, threshold, survivors);
    part = survivors.span();
  }
  // 4.
  const Whole whole = gather_regions(env, part, regions, share.load);
  remember_loads(whole.notes, warm);
  const SparseBuffer& all = whole.entries;
  if (problem.k == kAll || all.capacity <= problem.k) return {all.span(), no_entries(env).span()};
  // 5.
  const Stopwatch watch(env.stats.reduce_seconds);
  const SparseBuffer result = env.kernels.sparse(problem.k);
  env.kernels.top_k(all.span(), problem.k, result, SparseBuffer{});
  return {result.span(), no_entries(env).span()};
}

}  // namespace sparsecoll
