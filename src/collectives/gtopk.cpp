// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// gTop-k (Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k Sparsification for
// Low Bandwidth Networks, ICDCS 2019), for any P.
//
//   The tree: S_r = L_r. At level t = 0, 1, ..., for r a multiple of 2^(t+1), S_r := TOP(S_r +
//   S_{r + 2^t}). TOP adds by index and keeps the k largest entries that are not 0. If rank r + 2^t
//   does not exist, S_r stays. Rank 0's S is the result.
//
// TOP is symmetric, so that all ranks of a subtree can compute its S, and no
//   broadcast is needed. At level t the 2^t ranks from r on, the head, have S_r. The
//   next h <= 2^t ranks, the tail, have S_{r + 2^t}. 1. Rank i of the head and rank i
//   of the tail exchange their S. Both merge. 2. If the tail is shorter than the
//   head, which happens at the last ranks, the ranks of the head that merged send the
//   new S to the others of the head. Their number doubles in each round. All other
//   ranks make an empty exchange. 3. Rank r adds the entries that TOP dropped to D_r.
//   The other ranks compute the same merge but do not record them. (Over a wire
//   that rounds TOP rounds the sums before it selects, and D_r also has the rounding
//   errors.)
//
// Cost per rank: log2 P messages of k entries if P is a power of two; else at most one message per
// round. There are ceil(log2 P) rounds, and ceil(log2(2^t / h)) more at a level whose tail has h <
// 2^t ranks.
//
// Guarantees: the tree of the verb's definition bit for bit; no index appears twice; with the
// conserving residual rule nothing is lost. Unless k is SPARSECOLL_ALL, the size of every message
// has a bound that is known in advance, so that the host never waits for a count.
#include <algorithm>
#include <array>

#include "collectives/building_blocks/rounding.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/algorithm.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

/// The vectors of the tree. A level uses the memory of those of earlier levels, else a rank would
/// need about five times k entries for each level.
class Workspace {
 public:
  explicit Workspace(Kernels& kernels) : kernels_(kernels) {}

  /// Returns a vector that no other one overlaps.
  SparseBuffer take(size_t capacity) {
    const auto fits = [capacity](const Slot& slot) {
      return !slot.used && slot.vector.nnz && slot.vector.capacity >= capacity;
    };
    const auto found = std::ranges::find_if(slots_, fits);
    if (found == slots_.end()) return add(kernels_.sparse(capacity));
    found->used = true;
    SparseBuffer vector = found->vector;
    vector.capacity = capacity;
    vector.nnz = kernels_.counts(1);
    return vector;
  }
  /// Gives back all vectors but these two.
  void keep(const SparseSpan& first, const SparseSpan& second) {
    for (Slot& slot : slots_)
      slot.used = slot.vector.index == first.index || slot.vector.index == second.index;
  }

 private:
  struct Slot {
    SparseBuffer vector;
    bool used = true;
  };

  /// Puts the vector into the slot of the smallest vector that is not in use. If there is none, the
  /// vector is not used again.
  SparseBuffer add(const SparseBuffer& vector) {
    Slot* smallest = nullptr;
    for (Slot& slot : slots_) {
      const bool free = !slot.used || !slot.vector.nnz;
      if (free && (!smallest || slot.vector.capacity < smallest->vector.capacity)) smallest = &slot;
    }
    if (smallest) *smallest = {vector};
    return vector;
  }

  Kernels& kernels_;
  std::array<Slot, 8> slots_;  ///< a level of a rank needs at most seven vectors
};

class Tree {
 public:
  Tree(Env& env, const Problem& problem)
      : env_(env),
        kernels_(env.kernels),
        workspace_(env.kernels),
        problem_(problem),
        exact_sum_(problem.k == kAll),
        k_(std::min<uint64_t>(problem.k, problem.count)),
        all_indices_{0, problem.count},
        ranks_(env.call.size()),
        rank_(env.call.rank()),
        sum_(problem.local),
        dropped_(empty_vector(env).span()),
        sum_precision_(env.rounded_precision()),
        bound_(bound(problem.local.precision)) {}

  Outcome run() {
    for (int distance = 1; distance < ranks_; distance *= 2) {
      merge_halves(distance);
      forward(distance);
    }
    return {sum_, dropped_};
  }

 private:
  /// Step 1 of the level whose heads have `distance` ranks.
  void merge_halves(int distance) {
    const int peer = rank_ ^ distance;
    if (peer < ranks_)
      merge(peer, distance);
    else
      skip_exchange();
    bound_ = bound(sum_precision_);  // from now on messages contain sums
  }

  /// Step 2 of the level, in the last head.
  void forward(int distance) {
    const int head = ranks_ - 1 - (ranks_ - 1) % (2 * distance);
    const int tail = ranks_ - head - distance;
    const int position = rank_ - head;
    const bool in_head = position >= 0 && position < distance;
    for (int holders = tail; holders > 0 && holders < distance; holders *= 2) {
      if (in_head && position < holders && position + holders < distance)
        send(rank_ + holders);
      else if (in_head && position >= holders && position < 2 * holders)
        sum_ = unpack(receive(rank_ - holders));
      else
        skip_exchange();
    }
    workspace_.keep(sum_, dropped_);
  }

  /// Returns the bytes of the largest message of entries with that precision.
  size_t bound(Precision precision) const {
    // There is no bound if it would be larger than any memory.
    if (exact_sum_ || k_ > kAll / 64) return kUnknownSize;
    return kernels_.message_bound(k_, problem_.count, precision);
  }

  Packet pack() {
    const Stopwatch watch(env_.stats, Phase::pack);
    const Packets packets = kernels_.packets(sum_.nnz.bound, {&all_indices_, 1}, sum_.precision);
    kernels_.pack_all(sum_, {&all_indices_, 1}, packets);
    // One message starts right behind its headroom.
    return {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size, bound_};
  }

  ConstBytes exchange(int peer, bool out, bool in) {
    Transfer transfer{peer, out ? pack() : Packet{}, in ? bound_ : 0, {}};
    env_.call.exchange({&transfer, 1});
    return transfer.in;
  }
  ConstBytes swap_with(int peer) { return exchange(peer, true, true); }
  void send(int peer) { exchange(peer, true, false); }
  ConstBytes receive(int peer) { return exchange(peer, false, true); }
  void skip_exchange() { env_.call.exchange({}); }

  SparseSpan unpack(ConstBytes bytes) {
    const Stopwatch watch(env_.stats, Phase::pack);
    // A message without a bound may have far fewer than k entries.
    const size_t capacity =
        std::min(k_, bytes.size() / kernels_.wire_value_size(problem_.local.precision));
    const SparseBuffer vector = workspace_.take(capacity);
    const Message message{bytes, all_indices_};
    kernels_.unpack_all({&message, 1}, {&vector, 1}, env_.fault);
    return vector.span().known(sum_precision_);
  }

  /// Computes S := TOP(S + the peer's S). The S of the lower rank comes first in the sum.
  void merge(int peer, int distance) {
    const SparseSpan theirs = unpack(swap_with(peer));
    const Stopwatch watch(env_.stats, Phase::reduce);
    const SparseSpan vectors[2] = {peer > rank_ ? sum_ : theirs, peer > rank_ ? theirs : sum_};
    const size_t most = std::min<uint64_t>(sum_.nnz.bound + theirs.nnz.bound, problem_.count);
    const SparseBuffer both = workspace_.take(most);
    kernels_.merge(vectors, both);
    const Rounded sum = round_for_wire(env_, both.span());
    const bool is_logger = rank_ % (2 * distance) == 0;
    if (is_logger && sum.lost.value) log(sum.lost);  // 3.
    if (exact_sum_) {
      sum_ = sum.values;
      return;
    }
    const SparseBuffer kept = workspace_.take(std::min(k_, most));
    const SparseBuffer dropped = is_logger ? workspace_.take(most) : SparseBuffer{};
    kernels_.top_k(sum.values, k_, kept, dropped);
    sum_ = kept.span().known(sum_precision_);
    if (is_logger) log(dropped.span());  // 3.
  }

  /// Adds entries that were dropped, or rounding errors, to D_r.
  void log(const SparseSpan& dropped) {
    const SparseSpan vectors[2] = {dropped_, dropped};
    const SparseBuffer both =
        workspace_.take(std::min<uint64_t>(dropped_.nnz.bound + dropped.nnz.bound, problem_.count));
    kernels_.merge(vectors, both);
    dropped_ = both.span();
  }

  Env& env_;
  Kernels& kernels_;
  Workspace workspace_;
  const Problem& problem_;
  const bool exact_sum_;  ///< no selection
  const size_t k_;
  const Region all_indices_;
  const int ranks_;
  const int rank_;
  SparseSpan sum_;
  SparseSpan dropped_;
  const Precision sum_precision_;  ///< precision of sums in messages
  size_t bound_;  ///< bytes of the largest message of this level, equal on all ranks
};

Outcome run(Env& env, const Problem& problem, ShapeCache&) { return Tree(env, problem).run(); }

}  // namespace

extern constinit const Algorithm kGtopk{.id = AlgorithmId::automatic,
                                        .run = run,
                                        .selection = kSelectTopk,
                                        .knows_bounds = true,
                                        .drops_entries = true,
                                        .selects_input = true};

}  // namespace sparsecoll
