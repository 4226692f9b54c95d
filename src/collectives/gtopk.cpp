// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// gTop-k (Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k Sparsification for
// Low Bandwidth Networks, ICDCS 2019), for any P.
//
//   The tree: S_r = L_r. At level t = 0, 1, ..., for r a multiple of 2^(t+1), S_r := TOP(S_r +
//   S_{r + 2^t}); a missing partner passes through. TOP adds by index and keeps the k largest
//   non-zeros. Rank 0's S is the result.
//   TOP is symmetric, so all ranks of a subtree can have its S, and no broadcast is needed. At
//   level t the 2^t ranks from r on, the head, have S_r, and the h <= 2^t that follow, the tail,
//   S_{r+2^t}:
//   1. The i-th of the tail and the i-th of the head swap their S; both merge.
//   2. Where the tail is shorter, at the end of the ranks, those of the head that merged pass the
//      new S on to the others, twice as many in each round. All other ranks exchange nothing then.
//   3. r adds what TOP dropped to D_r. Others compute the same merge; only r keeps the log. (Over a
//      bfloat16 wire TOP rounds the sums before it selects, and what they lose is logged likewise.)
//
// Cost per rank: log2 P messages of k entries for P a power of two; else at most as many as rounds,
// ceil(log2 P) and, at a level whose tail has h < 2^t ranks, ceil(log2(2^t / h)) more.
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
        dropped_(empty_vector(env).span()),
        sums_(problem.local.precision == Precision::bfloat16 ? Precision::bfloat16
                                                             : Precision::accumulated),
        bound_(bound(problem.local.precision)) {}

  Outcome run() {
    for (int distance = 1; distance < ranks_; distance *= 2) {
      join(distance);
      pass_on(distance);
    }
    return {sum_, dropped_};
  }

 private:
  /// 1. of one level: heads of `distance` ranks and the tails that follow them.
  void join(int distance) {
    const int peer = rank_ ^ distance;
    if (peer < ranks_)
      merge(peer, distance);
    else
      stand_by();
    bound_ = bound(sums_);  // from now on sums travel too
  }

  /// 2. of one level, in the last head.
  void pass_on(int distance) {
    const int head = ranks_ - 1 - (ranks_ - 1) % (2 * distance);
    const int tail = ranks_ - head - distance;
    const int place = rank_ - head;
    const bool in_head = place >= 0 && place < distance;
    for (int have = tail; have > 0 && have < distance; have *= 2) {
      if (in_head && place < have && place + have < distance)
        give(rank_ + have);
      else if (in_head && place >= have && place < 2 * have)
        sum_ = unpack(take(rank_ - have));
      else
        stand_by();
    }
  }

  /// Bytes of the largest message of entries with that precision.
  size_t bound(Precision precision) const {
    // A bound beyond all memory is none.
    if (all_ || k_ > kAll / 64) return kUnknownSize;
    return wire_bound({k_, problem_.count, kernels_.wire_value_size(precision)});
  }

  Packet pack() {
    const Stopwatch watch(env_.stats, Phase::pack);
    const Packets packets = kernels_.packets(sum_.nnz.bound, {&whole_, 1}, sum_.precision);
    kernels_.pack_all(sum_, {&whole_, 1}, packets);
    // One message starts right behind its headroom.
    return {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size, bound_};
  }

  ConstBytes exchange(int peer, bool out, bool in) {
    Transfer transfer{peer, out ? pack() : Packet{}, in ? bound_ : 0, {}};
    env_.call.exchange({&transfer, 1});
    return transfer.in;
  }
  ConstBytes swap_with(int peer) { return exchange(peer, true, true); }
  void give(int peer) { exchange(peer, true, false); }
  ConstBytes take(int peer) { return exchange(peer, false, true); }
  void stand_by() { env_.call.exchange({}); }

  SparseSpan unpack(ConstBytes bytes) {
    const Stopwatch watch(env_.stats, Phase::pack);
    // Where the message is as long as it needs to be, k may be far above what it holds.
    const size_t capacity =
        std::min(k_, bytes.size() / kernels_.wire_value_size(problem_.local.precision));
    const SparseBuffer piece = kernels_.sparse(capacity);
    const Message message{bytes, whole_};
    kernels_.unpack_all({&message, 1}, {&piece, 1}, env_.fault);
    return piece.span().known(sums_);
  }

  /// S := TOP(S + the peer's S), the lower rank's first.
  void merge(int peer, int distance) {
    const SparseSpan theirs = unpack(swap_with(peer));
    const Stopwatch watch(env_.stats, Phase::reduce);
    const SparseSpan pieces[2] = {peer > rank_ ? sum_ : theirs, peer > rank_ ? theirs : sum_};
    const size_t most = std::min<uint64_t>(sum_.nnz.bound + theirs.nnz.bound, problem_.count);
    const SparseBuffer both = kernels_.sparse(most);
    kernels_.merge(pieces, both);
    const Rounded sum = round_for_wire(env_, both.span());
    const bool logs = rank_ % (2 * distance) == 0;
    if (logs && sum.lost.value) log(sum.lost);  // 3.
    if (all_) {
      sum_ = sum.values;
      return;
    }
    const SparseBuffer kept = kernels_.sparse(std::min(k_, most));
    const SparseBuffer dropped = logs ? kernels_.sparse(most) : SparseBuffer{};
    kernels_.top_k(sum.values, k_, kept, dropped);
    sum_ = kept.span().known(sums_);
    if (logs) log(dropped.span());  // 3.
  }

  /// D_r += dropped, or lost to rounding.
  void log(const SparseSpan& dropped) {
    const SparseSpan pieces[2] = {dropped_, dropped};
    const SparseBuffer both =
        kernels_.sparse(std::min<uint64_t>(dropped_.nnz.bound + dropped.nnz.bound, problem_.count));
    kernels_.merge(pieces, both);
    dropped_ = both.span();
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
  const Precision sums_;  ///< of what was added up, when it travels
  size_t bound_;          ///< bytes of the largest message of this round, on all ranks alike
};

Outcome run(Env& env, const Problem& problem, ShapeCache&) { return Tree(env, problem).run(); }

}  // namespace

extern constinit const Algorithm kGtopk{
    .id = AlgorithmId::automatic, .run = run, .selection = kSelectTopk};

}  // namespace sparsecoll
