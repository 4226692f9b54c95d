// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/tree_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "collectives/building_blocks/tree_step.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The sums that this rank holds of the regions, by owner.
class PartialSums {
 public:
  PartialSums(Env& env, const SparseSpan& in, std::span<const Region> regions)
      : env_(env), in_(in), regions_(regions), sums_(regions.size()) {}

  /// Makes a step. Returns the vectors to be added: those of owner o and subgroup s are at
  /// (position of o among the owners in `held`) * subgroups + s.
  ReceivedVectors exchange(const TreeStep& step, std::vector<int>& held);
  /// Adds the entries that a step has received.
  void add(const ReceivedVectors& received, std::span<const int> held, size_t subgroups);

 private:
  /// Packs a message for each leg, and returns the addresses and sizes of the messages.
  std::vector<ConstBytes> pack(std::span<const TreeLeg> legs);
  std::vector<ConstBytes> pack_from(const SparseSpan& in, std::span<const Region> regions);

  Env& env_;
  const SparseSpan in_;
  std::span<const Region> regions_;
  std::vector<std::optional<SparseSpan>> sums_;  ///< by owner; none: the sum is a part of in_
};

std::vector<ConstBytes> PartialSums::pack_from(const SparseSpan& in,
                                               std::span<const Region> regions) {
  if (regions.empty()) return {};
  const Stopwatch watch(env_.stats, Phase::pack);
  const Packets packets = env_.kernels.packets(in.nnz.bound, regions, in.precision);
  env_.kernels.pack_all(in, regions, packets);
  std::vector<uint64_t> extents(2 * regions.size());  // offsets, then sizes
  env_.kernels.read(packets.offset, extents.size(), extents.data());
  std::vector<ConstBytes> messages;
  for (size_t i = 0; i < regions.size(); ++i)
    messages.emplace_back(packets.slab + extents[i], extents[regions.size() + i]);
  return messages;
}

std::vector<ConstBytes> PartialSums::pack(std::span<const TreeLeg> legs) {
  std::vector<Region> whole;  // the regions that are still parts of in_, which are packed together
  for (const TreeLeg& leg : legs)
    if (!sums_[static_cast<size_t>(leg.owner)])
      whole.push_back(regions_[static_cast<size_t>(leg.owner)]);
  const auto regions = env_.arena.take_span<Region>(whole.size());
  std::ranges::copy(whole, regions.begin());
  const std::vector<ConstBytes> of_whole = pack_from(in_, regions);
  std::vector<ConstBytes> messages;
  size_t next = 0;
  for (const TreeLeg& leg : legs) {
    const auto owner = static_cast<size_t>(leg.owner);
    messages.push_back(sums_[owner] ? pack_from(*sums_[owner], regions_.subspan(owner, 1)).front()
                                    : of_whole[next++]);
  }
  return messages;
}

ReceivedVectors PartialSums::exchange(const TreeStep& step, std::vector<int>& held) {
  const int rank = env_.call.rank(), ranks = env_.call.size();
  const std::span<const int> subgroups = step.subgroups();
  std::vector<TreeLeg> sent, received, own;
  for (int owner = 0; owner < ranks; ++owner) {
    const int to = step.holder_of_group(owner);
    if (to == rank) {
      for (size_t s = 0; s < subgroups.size(); ++s) {
        const TreeLeg leg{owner, step.holder_in(subgroups[s], owner),
                          held.size() * subgroups.size() + s};
        (leg.peer == rank ? own : received).push_back(leg);
      }
      held.push_back(owner);
    } else if (step.holds_inside(owner)) {
      sent.push_back({owner, to});
    }
  }
  rotate(sent, rank, ranks);
  // Parts that stay here are packed, too, if the backend cannot take a part of a vector.
  std::vector<TreeLeg> packed = sent;
  MessageUnpacker unpacker(env_, held.size() * subgroups.size());
  for (const TreeLeg& leg : own) {
    const auto owner = static_cast<size_t>(leg.owner);
    const auto part = sums_[owner] ? sums_[owner] : env_.kernels.slice(in_, regions_[owner]);
    if (part)
      unpacker.set(leg.position, *part);
    else
      packed.push_back(leg);
  }
  const std::vector<ConstBytes> messages = pack(packed);
  const auto transfers = env_.arena.take_span<Transfer>(sent.size() + received.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    transfers[i].peer = sent[i].peer;
    transfers[i].out = {const_cast<std::byte*>(messages[i].data()), messages[i].size(), nullptr};
  }
  for (size_t i = 0; i < received.size(); ++i) {
    transfers[sent.size() + i].peer = received[i].peer;
    transfers[sent.size() + i].in_bound = kUnknownSize;
  }
  env_.call.exchange_each(transfers, [&](size_t i) {
    const TreeLeg& leg = received[i - sent.size()];
    unpacker.add(leg.position, {transfers[i].in, regions_[static_cast<size_t>(leg.owner)]});
  });
  for (size_t i = sent.size(); i < packed.size(); ++i)
    unpacker.add(packed[i].position, {messages[i], regions_[static_cast<size_t>(packed[i].owner)]});
  return unpacker.finish();
}

void PartialSums::add(const ReceivedVectors& received, std::span<const int> held,
                      size_t subgroups) {
  const Stopwatch watch(env_.stats, Phase::reduce);
  for (size_t i = 0; i < held.size(); ++i) {
    const auto owner = static_cast<size_t>(held[i]);
    const auto vectors = received.spans.subspan(i * subgroups, subgroups);
    uint64_t entries = 0;
    for (const SparseSpan& each : vectors) entries += each.nnz.bound;
    const SparseBuffer sum =
        env_.kernels.sparse(std::min<uint64_t>(entries, regions_[owner].length()));
    env_.kernels.merge(vectors, sum);
    sums_[owner] = sum.span();
  }
}

/// The head of a contribution: the number that is sent with it. Its size keeps the data behind it
/// aligned.
struct Head {
  uint64_t number;
  uint64_t unused;
};

/// Returns a packet with these bytes behind a head, or with the bytes alone.
Packet packet_of(Env& env, const Head* head, ConstBytes bytes) {
  const size_t front = head ? sizeof *head : 0;
  std::byte* const at = packet_memory(env, front + bytes.size());
  if (head) std::memcpy(at, head, front);
  if (env.kernels.is_on_device(bytes.data()))
    env.kernels.download(bytes.data(), {at + front, bytes.size()});
  else
    std::copy(bytes.begin(), bytes.end(), at + front);
  return {at, front + bytes.size(), nullptr};
}

/// The contributions that this rank has, by owner, packed and unpacked.
class Contributions {
 public:
  Contributions(Env& env, std::span<const Region> regions)
      : env_(env),
        regions_(regions),
        unpacker_(env, regions.size()),
        numbers_(env.arena.take_span<uint64_t>(regions.size())),
        packets_(regions.size()) {}

  /// Adds this rank's own contribution.
  void add_own(const Contribution& part) {
    const auto rank = static_cast<size_t>(env_.call.rank());
    const ConstBytes message = pack_region(env_, part.entries, regions_[rank]);
    const Head head{part.number, 0};
    packets_[rank] = packet_of(env_, &head, message);
    numbers_[rank] = part.number;
    if (const auto own = env_.kernels.slice(part.entries, regions_[rank]))
      unpacker_.set(rank, *own);
    else
      unpacker_.add(rank, {message, regions_[rank]});
  }

  void exchange(const TreeStep& step) {
    const int rank = env_.call.rank(), ranks = env_.call.size();
    std::vector<TreeLeg> sent, received;
    for (int owner = 0; owner < ranks; ++owner) {
      const int from = step.holder_of_group(owner);
      if (from == rank) {
        for (const int subgroup : step.subgroups())
          if (const int to = step.holder_in(subgroup, owner); to != rank)
            sent.push_back({owner, to});
      } else if (step.holds_inside(owner)) {
        received.push_back({owner, from});
      }
    }
    const auto transfers = env_.arena.take_span<Transfer>(sent.size() + received.size());
    for (size_t i = 0; i < transfers.size(); ++i) {
      const bool out = i < sent.size();
      const TreeLeg& leg = out ? sent[i] : received[i - sent.size()];
      transfers[i].peer = leg.peer;
      transfers[i].message_memory = MessageMemory::host;
      if (out)
        transfers[i].out = packets_[static_cast<size_t>(leg.owner)];
      else
        transfers[i].in_bound = kUnknownSize;
    }
    env_.call.exchange_each(transfers,
                            [&](size_t i) { add(received[i - sent.size()], transfers[i].in); });
  }

  GatheredVector finish() {
    const ReceivedVectors vectors = unpacker_.finish();
    const Stopwatch watch(env_.stats, Phase::reduce);
    const SparseBuffer entries = env_.kernels.sparse(vectors.entries);
    env_.kernels.concatenate(vectors.spans, entries);
    return {entries, numbers_};
  }

 private:
  void add(const TreeLeg& leg, ConstBytes in) {
    const auto owner = static_cast<size_t>(leg.owner);
    if (in.size() < sizeof(Head))
      fail(sparsecollRemoteError, "rank ", env_.call.communicator_rank(leg.peer), " sent ",
           in.size(), " bytes, expected a contribution");
    std::memcpy(&numbers_[owner], in.data(), sizeof numbers_[owner]);
    packets_[owner] = packet_of(env_, nullptr, in);  // to be forwarded
    unpacker_.add(owner, {in.subspan(sizeof(Head)), regions_[owner]});
  }

  Env& env_;
  std::span<const Region> regions_;
  MessageUnpacker unpacker_;
  std::span<uint64_t> numbers_;
  std::vector<Packet> packets_;
};

}  // namespace

ReceivedVectors sum_by_tree(Env& env, const SparseSpan& in, std::span<const Region> regions,
                            const Topology& groups) {
  PartialSums sums(env, in, regions);
  for (int step = 0;; ++step) {
    const TreeStep each(groups, step, env.call.rank());
    std::vector<int> held;
    const ReceivedVectors received = sums.exchange(each, held);
    if (step == groups.levels()) return received;
    sums.add(received, held, each.subgroups().size());
  }
}

GatheredVector gather_by_tree(Env& env, const Contribution& part, std::span<const Region> regions,
                              const Topology& groups) {
  Contributions contributions(env, regions);
  contributions.add_own(part);
  for (int step = groups.levels(); step >= 0; --step)
    contributions.exchange(TreeStep(groups, step, env.call.rank()));
  std::vector<int> all(regions.size());
  std::iota(all.begin(), all.end(), 0);
  env.call.mark_covered(all);
  return contributions.finish();
}

}  // namespace sparsecoll
