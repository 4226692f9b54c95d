// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/deadline.hpp"
#include "core/memory.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

/// The size of a message. The last `device_bytes` of its bytes may be in device memory, at the
/// sender and at the receiver; 0 unless the sender's takes_device_memory() is true.
struct MessageLength {
  MessageLength(size_t all, size_t on_device = 0) : bytes(all), device_bytes(on_device) {}
  size_t bytes;
  size_t device_bytes;
};

/// A message that a peer has sent. The receiver learns its size only now.
struct ReceivedMessage {
  int peer;  ///< the sender
  Buffer bytes;
  /// The rest of the message if it was received into device memory; see set_device_memory().
  Buffer device_tail = {};
};

/// A member of a split, in the order of the new ranks.
struct RankAddress {
  int rank;          ///< the member's rank in the transport that is split
  uint64_t address;  ///< what next_address() returned on that rank
};

/// Moves messages between the ranks of one communicator. It does not interpret their bytes.
///
/// Delivery: messages of one sender are received in the order in which they were sent, each whole
/// or not at all. The order between messages of different senders is not defined. A rank can send
/// to itself.
///
/// Progress: no function waits for a peer, except idle(), and that only until its limit. A caller
/// that waits calls poll() in a loop, so it receives every message, wanted or not.
///
/// Threads: one thread at a time calls the transport. Only interrupt() may be called by any thread
/// at any time.
///
/// Errors are thrown as Error. After one, only interrupt() and abandon() are useful.
///
/// docs/adding-a-transport.md explains how to write one; tests/transport/contract.hpp tests that it
/// keeps to this contract.
class Transport {
 public:
  virtual ~Transport() = default;

  // --- The ranks
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns this process's rank among all processes that the launcher started together, as far as
  /// the transport knows.
  virtual int world_rank() const { return rank(); }
  /// Returns how many ranks run on the same CPUs as this one, this one included, as far as the
  /// transport knows.
  virtual CpuShare cpu_share() const {
    return {static_cast<size_t>(size()), static_cast<size_t>(rank())};
  }
  /// Returns a number that identifies the node of this rank. Ranks with the same number share its
  /// memory and its network link.
  virtual uint64_t node() const { return 0; }

  /// Returns true if a rank may try to read memory of a rank on its node in place
  /// (core/process_memory.hpp). A simulation returns false, because such a read would take no
  /// virtual time.
  virtual bool can_read_peers() const { return false; }

  /// Returns true if messages to `peer` stay in the memory of this machine. Only a faulty program
  /// can damage them there.
  virtual bool shares_memory(int /*peer*/) const { return false; }

  /// Throws InvalidUsage if the calling thread must not use the transport, for example because of
  /// MPI's thread level.
  virtual void check_thread() const = 0;
  /// Throws InvalidUsage if a thread of the library must not use the transport while the caller's
  /// thread runs on (config.blocking = 0).
  virtual void check_queue() const = 0;

  // --- Sending
  /// Starts to send a message. The caller keeps the bytes alive and unchanged until unsent() is 0.
  virtual void send(int peer, ConstBytes bytes) = 0;
  /// Opens a message of a known length whose chunks the caller produces one after another. Any
  /// other send to that peer before the last chunk cancels the message: the peer never receives it.
  virtual void open(int peer, const MessageLength& length) = 0;
  /// Starts to send the next chunk of the open message, with the same rule for its bytes as send().
  /// A chunk has at least one byte, and the chunks together have no more bytes than the message. No
  /// chunk is partly on the host and partly on the device.
  virtual void send_chunk(int peer, ConstBytes chunk) = 0;
  /// Starts to send a message and takes ownership of it, so that it may outlive the call. The
  /// buffer comes from pool().
  virtual void hand_over(int peer, Buffer message) = 0;
  /// Returns how many bytes of the caller's messages are still being sent, and makes progress.
  virtual size_t unsent() = 0;
  /// Returns how many bytes of messages that were handed over are still being sent.
  virtual size_t unsent_handed_over() = 0;
  /// Returns the sum of unsent() and unsent_handed_over() for one peer, or for all if the transport
  /// does not count by peer.
  virtual size_t unsent_to(int peer) = 0;
  /// Returns how many bytes were handed over for `peer`, by any rank, that it has not received, as
  /// far as the transport knows. Makes no progress.
  virtual size_t waiting_for(int /*peer*/) const { return 0; }

  // --- Receiving
  /// Returns the next received message, if there is one, and makes progress.
  virtual std::optional<ReceivedMessage> poll() = 0;
  /// Waits until poll() or unsent() may return something new, at most until `limit`. It may return
  /// early.
  virtual void idle(Clock::time_point limit) = 0;
  /// Returns the current time in seconds since a fixed moment. A simulation returns virtual time.
  virtual double seconds() const {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }

  // --- Peers that leave
  /// Returns true if the transport knows that `peer` has left and that poll() has returned, or will
  /// return at once, all that it sent. False means only that this is not known.
  virtual bool gone(int peer) const = 0;
  /// Returns false if gone() is false for every peer. This is quicker than to ask for each of them.
  virtual bool any_gone() const { return true; }
  /// Notifies the peers that this rank has done its part of call number `call`, if this needs no
  /// message.
  virtual void set_completed(uint64_t /*call*/) {}
  /// Returns the peers that are gone and have not done their part of call number `call`, as far as
  /// the transport knows.
  virtual std::vector<int> gone_before(uint64_t /*call*/) const { return {}; }
  /// Ends idle(), now and for good, and marks this rank as gone for its peers if this needs no call
  /// of the layer below. Any thread may call it.
  virtual void interrupt() noexcept = 0;

  // --- Splitting
  /// Returns the address at which this rank receives the messages of the next split. The ranks
  /// exchange their addresses before split().
  virtual uint64_t next_address() = 0;
  /// Returns a new transport between `members`, whose new ranks are their positions in the list, or
  /// null if the list is empty. All ranks call it after they have agreed on the split; `id` is the
  /// same on all of them and is used once. It does not wait: peers may send on the new transport
  /// before this rank has made its end.
  virtual std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) = 0;

  /// Returns another transport between the same ranks, on which the remaining ranks find each other
  /// after others have failed; null if there is none. It works also after this one was abandoned.
  /// Each rank calls it at most once; peers may send on the new transport before. A rank that has
  /// closed or destroyed this transport is gone for the new one.
  virtual std::unique_ptr<Transport> recovery() { return nullptr; }

  // --- The end
  /// Returns true if close() is collective, so that the ranks must agree on it first.
  virtual bool close_is_collective() const = 0;
  /// Ends the transport in good order. No message is being sent.
  virtual void close() = 0;
  /// Ends a broken transport locally and at once. Returns how many bytes of its own memory are
  /// never freed because a message that cannot be cancelled may still touch them. Sets
  /// *touches_caller to true if such a message uses memory of the caller, who must then never free
  /// it either.
  virtual size_t abandon(bool* touches_caller) noexcept = 0;

  // --- Memory
  /// Returns true if device memory can be sent from and received into.
  virtual bool takes_device_memory() const { return false; }
  /// Lets the transport receive the device bytes of large messages into this memory from now on. A
  /// transport that cannot do so ignores it. Called at most once.
  virtual void set_device_memory(std::shared_ptr<Memory> /*device*/) {}
  /// Returns the pool for received messages and for messages to be handed over.
  virtual Pool& pool() = 0;
  /// Returns the memory that the pool allocates from.
  virtual const Memory& memory() const = 0;
};

}  // namespace sparsecoll
