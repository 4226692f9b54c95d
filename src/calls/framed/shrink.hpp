// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calls/framed/channel.hpp"
#include "calls/framed/shrink_notice.hpp"
#include "calls/link.hpp"

namespace sparsecoll {

/// The connection between the ranks of a link that may have failed, on which those that remain find
/// each other, and what they know of those that are gone.
struct Recovery {
  Recovery(std::unique_ptr<Transport> among, Memory& memory)
      : transport(std::move(among)),
        channel(*transport, memory, true),
        failed(static_cast<size_t>(channel.size())) {}
  ~Recovery() {
    bool touches_caller = false;  // all messages were handed over
    transport->abandon(&touches_caller);
  }
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  std::unique_ptr<Transport> transport;
  Channel channel;
  std::vector<bool> failed;  ///< by rank: known to be gone
  uint64_t attempt = 0;      ///< number of the last shrink
};

/// One shrink of a link, on one rank. The ranks that remain agree twice:
///
///   1. Each sends the others the ranks that it excludes, the number of its last committed call and
///      its address in the new transport, and waits until it has all of them. Without lists the
///      ranks that any of them knows to be gone are excluded.
///   2. When the new communicator is initialised, each sends its result, and waits for all results.
///      A rank that has all, and that all are good, tells the others so. Whoever hears of that is
///      done, also if the result of a rank that has died since is missing.
///
/// A rank that fails in between sends its error, and all fail with it. A wait for a rank that does
/// not come ends some time before the deadline, so that this error arrives within it.
class Shrink {
 public:
  Shrink(Recovery& recovery, const ShrinkArguments& arguments);

  /// Step 1. Returns the new transport and sets committed().
  std::unique_ptr<Transport> gather();
  /// The number of the last call that every remaining rank has committed.
  uint64_t committed() const { return committed_; }
  /// The time for the initialisation of the new communicator.
  Deadline init_deadline() const { return deadline_.part(90); }
  /// Step 2. Throws what any rank failed with.
  void conclude();
  /// Tells the other ranks that this one has failed.
  void send_failure(const Error& error);

 private:
  using Kind = ShrinkNotice::Kind;
  /// What is known of another rank.
  struct Peer {
    std::optional<ShrinkNotice> hello;
    bool has_result = false;
    bool refused = false;  ///< it is excluded, calls all the same, and was told so
  };

  /// Waits until `arrived(peer)` for all ranks that remain.
  void wait_for_all(const Deadline& deadline, FunctionRef<bool(int peer)> arrived);
  std::unique_ptr<Transport> gather(uint64_t address);
  /// Takes the notices of this shrink out of the channel. Throws the failure of a peer.
  void take_notices();
  void take(int peer, ShrinkNotice notice);
  /// Takes the notice of a rank that is excluded: shows it the list, so that it does not wait.
  void refuse(int peer, const ShrinkNotice& notice);
  void take_hello(int peer, ShrinkNotice hello);
  /// Throws the failure of a peer.
  [[noreturn]] void fail_with(int peer, const ShrinkNotice& notice);
  void send_to_all(const ShrinkNotice& notice);
  /// Sends. If that fails because the peer is gone, a hello without a list excludes it, and a
  /// failure goes to the others only.
  void send(int peer, const ShrinkNotice& notice);
  bool remains(int rank) const { return !excluded_[static_cast<size_t>(rank)]; }
  std::vector<bool> remaining() const;

  Recovery& recovery_;
  Channel& channel_;
  const ShrinkArguments& arguments_;
  const Deadline deadline_;
  std::vector<bool> excluded_;  ///< by rank
  std::vector<bool> missing_;   ///< by rank: those for which a wait was given up
  std::vector<Peer> peers_;     ///< by rank
  uint64_t committed_ = 0;
  std::optional<std::pair<int, ShrinkNotice>> failure_;  ///< the first one of a peer
  bool done_ = false;                                    ///< some rank has all results
};

}  // namespace sparsecoll
