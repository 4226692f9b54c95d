// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "calls/call.hpp"
#include "core/arena.hpp"

namespace sparsecoll {

/// The transfers of one exchange whose message is missing. An arrival takes hardly longer if there
/// are many of them.
class MissingTransfers {
 public:
  MissingTransfers(int ranks, Arena& arena)
      : arena_(arena),
        first_(arena.take_span<uint32_t>(static_cast<size_t>(ranks), kNone)),
        arrived_(arena.take_span<int>(static_cast<size_t>(ranks))),
        has_arrived_(arena.take_span<bool>(static_cast<size_t>(ranks))) {}

  /// Begins with the transfers of an exchange. No transfer of the one before is left.
  void begin(std::span<const Transfer> transfers) {
    next_ = arena_.take_span<uint32_t>(transfers.size(), kNone);
    awaited_ = arena_.take_span<int>(transfers.size());
    for (size_t i = transfers.size(); i-- > 0;) {
      if (transfers[i].in_bound == 0) continue;
      next_[i] = std::exchange(first_of(transfers[i]), static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < transfers.size(); ++i)
      if (first_of(transfers[i]) == i) awaited_[left_++] = transfers[i].peer;
  }

  /// Returns the peers whose messages are missing.
  std::span<const int> peers() const { return awaited_.first(left_); }
  /// Remembers that a frame of this peer has arrived.
  void add_arrival(int peer) {
    bool& known = has_arrived_[static_cast<size_t>(peer)];
    if (!contains(peer) || std::exchange(known, true)) return;
    arrived_[arrivals_++] = peer;
  }
  /// Returns the remembered peers.
  std::span<const int> arrivals() const { return arrived_.first(arrivals_); }
  /// Returns whether a message of this peer is missing.
  bool contains(int peer) const { return first_[static_cast<size_t>(peer)] != kNone; }
  /// Takes out the first transfer that misses a message of this peer.
  size_t take(int peer) {
    uint32_t& first = first_[static_cast<size_t>(peer)];
    return std::exchange(first, next_[first]);
  }
  /// Forgets the arrivals.
  void end_arrivals() {
    for (const int peer : arrivals()) {
      has_arrived_[static_cast<size_t>(peer)] = false;
      if (contains(peer)) continue;
      const auto left = awaited_.first(left_--);
      const auto at = std::ranges::find(left, peer);
      std::copy(at + 1, left.end(), at);
    }
    arrivals_ = 0;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t& first_of(const Transfer& transfer) {
    return first_[static_cast<size_t>(transfer.peer)];
  }

  Arena& arena_;
  std::span<uint32_t> first_;    ///< by peer: its first transfer
  std::span<uint32_t> next_;     ///< by transfer: the next one of the same peer
  std::span<int> awaited_;       ///< peers
  std::span<int> arrived_;       ///< peers
  std::span<bool> has_arrived_;  ///< by peer
  size_t left_ = 0;
  size_t arrivals_ = 0;
};

}  // namespace sparsecoll
