// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "calls/framed/channel.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// Thrown out of an exchange when some rank made another call or abandoned this one; answer with
/// FramedCall::abandon().
struct Abandoned {};

/// Throws RemoteError when more has come than the leg allows.
void check_size(const Transfer& transfer);

/// A call whose messages carry headers, over MPI and threads.
///
/// Agreement costs no round of its own. Every header carries a hash of what the sender was called
/// with and the set of ranks from which it knows, first hand or relayed, that they made the same
/// call. A rank commits once that set is full. A rank with bad arguments, or that sees another
/// hash, sends "abandon call N" to all others and takes in frames until it has one from each; so
/// does everyone who hears of it. Since frames of one sender arrive in order, nothing of call N is
/// left then and the communicator goes on. No rank can have committed: a full set needs the hash of
/// every rank.
class FramedCall final : public AgreedCall {
 public:
  struct Parameters {
    Descriptor descriptor;
    uint64_t sequence = 0;
    Deadline deadline;
    std::span<const Descriptor> members = {};  ///< of a group; outlive the call
  };

  FramedCall(Channel& channel, const Parameters& terms, Arena& arena, Stats& stats);
  ~FramedCall() override;

  void read_with(Kernels& kernels) override;
  Stats& stats() override { return stats_; }
  uint64_t sequence() const override { return terms_.sequence; }
  const Deadline& deadline() const override { return terms_.deadline; }

  int rank() const override { return channel_.rank(); }
  int size() const override { return channel_.size(); }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  std::optional<double> probe(const Probe& probe) override;
  void learn_of(std::span<const int> ranks) override;

  /// Starts sending one message. `again`: the packet went to another peer before, in this call.
  void post(int peer, const Packet& packet, bool again = false);
  /// Waits for a message of at least one of these peers; gives all that have come from them.
  struct Received {
    int peer;
    ConstBytes message;
  };
  std::vector<Received> receive_some(std::span<const int> peers);

  /// ceil(log2 P) rounds of empty messages.
  void agree() override;
  void confirm() override;
  /// Abandons the call on all ranks; throws the Error that tells what was wrong: `problem` if this
  /// rank had one, else InvalidUsage.
  [[noreturn]] void abandon(const Error* problem);

 private:
  struct Notice;

  void leave_room(Buffer Frame::*part);
  FrameHeader header(FrameKind kind) const;
  /// Whether every other rank gets a message and sends one, destinations rotating.
  bool rotates(std::span<const Transfer> transfers) const;
  void send_paced(std::span<const Transfer> transfers);
  /// The message of one of the legs.
  void post_transfer(std::span<const Transfer> transfers, size_t i);
  void receive(std::span<Transfer> transfers, FunctionRef<void(size_t transfer)> on_message);
  /// Returns when one of the peers has sent something, or when there are none.
  void wait_for(std::vector<int> peers);
  [[noreturn]] void tell_timeout(std::span<const int> awaited) const;
  /// The next message of that peer; who wants it by the host sees it.
  ConstBytes take(int peer, MessageMemory message_memory);
  void examine(int peer, const Frame& frame);
  /// A pushSumStep of this call's number hears nobody but its neighbours, so that the call cannot
  /// be abandoned together.
  void refuse_gossip(int peer, const Frame& frame) const;
  bool has_come(int peer) const;
  void cover(const FrameHeader& header);
  void cover(size_t rank);
  /// Those awaited and those not known, even through others, to have made this call.
  std::vector<int> unheard(std::span<const int> absent) const;
  std::vector<int> others() const;
  static std::vector<int> awaited(std::span<const Transfer> transfers);
  ConstBytes own_notice(const Error* problem);
  bool take_notice(int peer, Notice* notice);
  std::string disagreement(const Notice& theirs, int peer) const;
  std::string verdict(const std::vector<Notice>& notices) const;

  Channel& channel_;
  Parameters terms_;
  uint64_t hash_;
  Arena& arena_;
  Stats& stats_;
  Kernels* kernels_ = nullptr;
  bool probes_ = false;  ///< what comes is for nobody
  std::vector<bool> covered_;
  int covered_count_ = 1;
  std::vector<Frame> kept_;  ///< received frames, whose payloads the algorithm looks at
};

}  // namespace sparsecoll
