// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "calls/framed/channel.hpp"
#include "calls/framed/frame_sender.hpp"
#include "calls/framed/missing_transfers.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// Thrown by an exchange when some rank made another call or abandoned this one. The handler calls
/// FramedCall::abandon().
struct Abandoned {};

/// Throws RemoteError if the received message is larger than the transfer allows.
void check_size(const Transfer& transfer);

/// A call whose messages are frames, over MPI or between threads.
///
/// Agreement costs no exchange of its own. Every header carries a hash of the sender's arguments
/// and the ranks that the sender knows, directly or through others, to have made the same call. A
/// rank commits once it knows all ranks.
///
/// A rank abandons a call if its arguments are bad or if it receives another hash: it sends its
/// arguments to all others and reads frames until it has those of each rank. Every rank that
/// receives such a notice does the same. Frames of one sender arrive in order, so that afterwards
/// none of this call is under way and the next call can begin. No rank can have committed, because
/// that needs the hash of every rank.
class FramedCall final : public AgreedCall {
 public:
  /// A received message.
  struct Received {
    int peer;
    ConstBytes message;
  };

  /// The members of the identity outlive the call.
  FramedCall(Channel& channel, const CallParameters& parameters, const CallIdentity& identity,
             Arena& arena);
  ~FramedCall() override;

  void set_kernels(Kernels& kernels) override;
  Stats& stats() override { return parameters_.stats; }
  uint64_t sequence() const override { return parameters_.sequence; }
  const Deadline& deadline() const override { return parameters_.deadline; }
  void check_deadline() const override { refuse_passed(parameters_.deadline); }

  int rank() const override { return channel_.rank(); }
  int size() const override { return channel_.size(); }
  bool can_read_peers() const override { return channel_.transport().can_read_peers(); }
  bool shares_memory(int peer) const override { return channel_.transport().shares_memory(peer); }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  bool measures() const override { return true; }
  std::optional<double> probe(const Probe& probe) override;
  std::optional<double> seconds() const override;
  void mark_covered(std::span<const int> ranks) override;
  void mark() override { sender_.mark(); }
  bool marked() const override { return sender_.marked(); }

  /// Starts to send one message.
  void send(int peer, const Packet& packet) { send(peer, packet, false); }
  /// Waits for a message of at least one of these peers. Returns all messages that have arrived
  /// from them.
  std::vector<Received> receive_some(std::span<const int> peers);

  /// Takes ceil(log2 P) exchanges of empty messages.
  void agree() override;
  void confirm() override;
  /// Abandons the call on all ranks. Throws `problem`, the error of this rank's arguments, or
  /// InvalidUsage with the reason of other ranks if it is null.
  [[noreturn]] void abandon(const Error* problem);

 private:
  /// Sends one message. `again`: this call sent the packet to another peer before.
  void send(int peer, const Packet& packet, bool again);
  void send_transfer(std::span<const Transfer> transfers, size_t i);
  /// Returns whether every other rank gets a message and sends one, beginning with the next rank.
  bool rotates(std::span<const Transfer> transfers) const;
  /// Sends the messages of an exchange that rotates, only a few at the same time.
  void send_paced(std::span<const Transfer> transfers);
  void receive(std::span<Transfer> transfers, FunctionRef<void(size_t transfer)> on_message);
  /// Waits for messages of the peers. Calls `on_frame` for each frame that arrives, and returns
  /// when `is_over` does so. Returns at once if there are no peers.
  void wait(std::span<const int> peers, FunctionRef<void(int peer)> on_frame,
            FunctionRef<bool()> is_over);
  /// Waits until a message of at least one of the peers has arrived.
  void wait_for_any(std::span<const int> peers);
  /// Takes the next message of that peer out of the channel.
  ConstBytes take_message(int peer, MessageMemory message_memory);
  /// Checks a frame as soon as it arrives. Throws Abandoned or RemoteError.
  void check_arrived(int peer, const Frame& frame);
  bool has_arrived(int peer) const;
  /// Returns a text for errors that names the ranks that are not covered, and those in `absent`.
  std::string name_missing(std::span<const int> absent) const;
  /// Reserves buffers in the pool for the frames of the next calls.
  void reserve_buffers(Buffer Frame::*part);

  Channel& channel_;
  CallParameters parameters_;
  CallIdentity identity_;
  Arena& arena_;
  FrameSender sender_;
  Kernels* kernels_ = nullptr;
  bool probes_ = false;  ///< The messages of this call are measurements without content.
  MissingTransfers missing_;
  std::vector<Frame> kept_;  ///< received frames, whose payloads the algorithm reads
};

}  // namespace sparsecoll
