// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// gTop-k (Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k Sparsification for
// Low Bandwidth Networks, ICDCS 2019), for any P.
//
//   S_r = L_r. At level t = 0, 1, ...:
//   1. Reduce: for r a multiple of 2^(t+1), S_r := TOP(S_r + S_{r + 2^t}); a missing partner passes
//      through. TOP adds by index and keeps the k largest non-zeros.
//   2. Rank 0's S is the result; broadcast it.
//   When P is a power of two, TOP is symmetric and step 1 by recursive doubling gives every rank
//   the very same S: partners exchange, both merge, no broadcast.
//   3. The receiver r of a merge of the tree, r a multiple of 2^(t+1), adds what TOP dropped to
//      D_r. Under recursive doubling others compute the same merges; only that one keeps the log.
//
// Cost per rank: log2 P messages of k entries for P a power of two; else at most ceil(log2 P), in
// 2 ceil(log2 P) rounds.
//
// Guarantees: the contract's tree bit for bit; no index twice; with conserving feedback nothing is
// lost. All messages have a bound known beforehand, so the host never waits for a count (k given).
#include <algorithm>

#include "collectives/algorithm.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

class Tree {
 public:
  Tree(Env& env, const Problem& problem)
      : env_(env),
        kernels_(env.kernels),
        problem_(problem),
        all_(problem.k == kAll),
        k_(std::min<uint64_t>(problem.k, problem.count)),
        whole_{0, problem.count},
        ranks_(env.call.size()),
        rank_(env.call.rank()),
        sum_(problem.local),
        dropped_(no_entries(env).span()),
        bound_(bound(problem.local.precision)) {}

  Outcome run() {
    const bool doubling = (ranks_ & (ranks_ - 1)) == 0;
    // 1.
    for (int distance = 1; distance < ranks_; distance *= 2) {
      if (doubling) {
        merge(rank_ ^ distance, swap_with(rank_ ^ distance), distance);
      } else if (rank_ % (2 * distance) == distance) {
        give(rank_ - distance);
        break;  // out of the reduction
      } else if (rank_ % (2 * distance) == 0 && rank_ + distance < ranks_) {
        merge(rank_ + distance, take(rank_ + distance), distance);
      }
      bound_ = bound(Precision::accumulated);  // from now on sums travel too, which nobody rounds
    }
    if (!doubling) broadcast();  // 2.
    return {sum_, dropped_};
  }

 private:
  /// Bytes of the largest message of entries with that precision.
  size_t bound(Precision precision) const {
    // A bound beyond all memory is none.
    if (all_ || k_ > kAll / 64) return kUnknownSize;
    return wire_bound({k_, problem_.count, kernels_.wire_value_size(precision)});
  }

  Packet pack() {
    const Stopwatch watch(env_.stats.pack_seconds);
    const Packets packets = kernels_.packets(sum_.nnz.bound, {&whole_, 1}, sum_.precision);
    kernels_.pack_all(sum_, {&whole_, 1}, packets);
    // One message starts right behind its headroom.
    return {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size, bound_};
  }

  ConstBytes exchange(int peer, bool out, bool in) {
    Leg leg{peer, out ? pack() : Packet{}, in ? bound_ : 0, {}};
    env_.call.exchange({&leg, 1});
    return leg.in;
  }
  ConstBytes swap_with(int peer) { return exchange(peer, true, true); }
  void give(int peer) { exchange(peer, true, false); }
  ConstBytes take(int peer) { return exchange(peer, false, true); }

  SparseSpan unpack(ConstBytes bytes) {
    const Stopwatch watch(env_.stats.pack_seconds);
    // Where the message is as long as it needs to be, k may be far above what it holds.
    const size_t capacity =
        std::min(k_, bytes.size() / kernels_.wire_value_size(Precision::stored));
    const SparseBuffer piece = kernels_.sparse(capacity);
    const Message message{bytes, whole_};
    kernels_.unpack_all({&message, 1}, {&piece, 1}, env_.fault);
    return piece.span();
  }

  /// S := TOP(S + the peer's S), the lower rank's first.
  void merge(int peer, ConstBytes bytes, int distance) {
    const SparseSpan theirs = unpack(bytes);
    const Stopwatch watch(env_.stats.reduce_seconds);
    const SparseSpan pieces[2] = {peer > rank_ ? sum_ : theirs, peer > rank_ ? theirs : sum_};
    const size_t most = std::min<uint64_t>(sum_.nnz.bound + theirs.nnz.bound, problem_.count);
    const SparseBuffer both = kernels_.sparse(most);
    kernels_.merge(pieces, both);
    if (all_) {
      sum_ = both.span();
      return;
    }
    const bool logs = rank_ % (2 * distance) == 0;
    const SparseBuffer kept = kernels_.sparse(std::min(k_, most));
    const SparseBuffer dropped = logs ? kernels_.sparse(most) : SparseBuffer{};
    kernels_.top_k(both.span(), k_, kept, dropped);
    sum_ = kept.span();
    if (logs) log(dropped.span());  // 3.
  }

  /// D_r += dropped.
  void log(const SparseSpan& dropped) {
    const SparseSpan pieces[2] = {dropped_, dropped};
    const SparseBuffer both =
        kernels_.sparse(std::min<uint64_t>(dropped_.nnz.bound + dropped.nnz.bound, problem_.count));
    kernels_.merge(pieces, both);
    dropped_ = both.span();
  }

  /// Binomial tree from rank 0: the reduction's edges backwards. Packs anew for every child, since
  /// each message needs its own headroom while it is under way; a pack costs no more than a copy.
  void broadcast() {
    bound_ = bound(Precision::accumulated);
    int distance = 1;
    while (distance < ranks_ && rank_ % (2 * distance) == 0) distance *= 2;
    if (rank_ != 0) sum_ = unpack(take(rank_ - distance));
    for (distance /= 2; distance > 0; distance /= 2)
      if (rank_ + distance < ranks_) give(rank_ + distance);
  }

  Env& env_;
  Kernels& kernels_;
  const Problem& problem_;
  const bool all_;  ///< no selection: the exact sum
  const size_t k_;
  const Region whole_;
  const int ranks_;
  const int rank_;
  SparseSpan sum_;
  SparseSpan dropped_;
  size_t bound_;  ///< bytes of the largest message of this round, on all ranks alike
};

}  // namespace

Outcome gtopk(Env& env, const Problem& problem, Warm&) { return Tree(env, problem).run(); }

}  // namespace sparsecoll
