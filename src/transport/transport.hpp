// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/deadline.hpp"
#include "core/memory.hpp"

namespace sparsecoll {

/// How long a message is, and how much of it, at its end, is hidden: it may be in memory of a
/// device at both ends. Nothing unless the sender's takes_device_memory().
struct Length {
  Length(size_t all, size_t hidden_bytes = 0) : bytes(all), hidden(hidden_bytes) {}
  size_t bytes;
  size_t hidden;
};

/// A message of unknown size that came in.
struct Arrived {
  int peer;
  Buffer bytes;
  Buffer hidden = {};  ///< what follows, where that came to memory of this rank's device
};

/// A rank of a transport as a member of a part of it.
struct RankAddress {
  int rank;
  uint64_t address;  ///< what next_address() gave there
};

/// Moves bytes between ranks; knows no numbers. Messages of one sender arrive in the order in which
/// they were sent, whole or not at all. Nothing here waits for a peer but idle(), briefly: whoever
/// waits polls, and so hears of everything that comes in, wanted or not. One thread at a time, but
/// for interrupt(). Errors are thrown as Error.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// A rank by which no other process is known that was started with this one, as far as it knows.
  virtual int launched_as() const { return rank(); }
  /// How many ranks run on the same CPUs as this one, itself included, as far as it knows.
  virtual int neighbours() const { return size(); }
  /// A number of the node that this rank is on: others with the same one share its memory and its
  /// link.
  virtual uint64_t node() const { return 0; }

  /// Refuses a thread that must not make calls (MPI's thread levels) by InvalidUsage.
  virtual void check_thread() const = 0;
  /// Refuses that calls are made on a thread of the library beside the caller's, likewise.
  virtual void check_queue() const = 0;

  /// Starts sending. The bytes must stay as they are until unsent() is 0.
  virtual void send(int peer, ConstBytes bytes) = 0;
  /// Starts a message of that length whose parts, of at least a byte each and no more bytes in
  /// all, are sent one after another when they are there. Another message to that peer before all
  /// of them gives it up: the peer never hears of it.
  virtual void open(int peer, const Length& length) = 0;
  /// As send(), for the next part of that message; none is hidden in part.
  virtual void send_part(int peer, ConstBytes part) = 0;
  /// As send(), for a message that may outlive the call: it is the transport's from now on. Taken
  /// from pool().
  virtual void hand_over(int peer, Buffer message) = 0;
  /// Bytes of the sender's messages whose sending is not complete.
  virtual size_t unsent() = 0;
  /// The same for messages that were handed over.
  virtual size_t unsent_handed_over() = 0;
  /// What these two last counted, of messages to that peer; all of it where nobody keeps them
  /// apart.
  virtual size_t unsent_to(int peer) = 0;
  /// A message that arrived, if one did; moves what is under way.
  virtual std::optional<Arrived> poll() = 0;
  /// True when nothing more will ever come from that peer, and the transport knows. What it sent
  /// before can still be polled.
  virtual bool gone(int peer) const = 0;
  /// This rank has made its part of that call: what it leaves undone is of later ones.
  virtual void made(uint64_t /*call*/) {}
  /// Who is gone and has not made its part of that call, as far as the transport knows.
  virtual std::vector<int> left_before(uint64_t /*call*/) const { return {}; }
  /// Lets time pass until something may have happened, at most until `limit`.
  virtual void idle(Clock::time_point limit) = 0;
  /// The time that passes meanwhile, since some moment.
  virtual double seconds() const {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }
  /// From any thread: ends idle(), for good, and lets peers see that this rank is gone where that
  /// needs no call of the layer below.
  virtual void interrupt() noexcept = 0;

  /// By what this rank will be reached in the next part; the ranks tell each other before split().
  virtual uint64_t next_address() = 0;
  /// Another transport between `members`, in their new order; null where there are none. All ranks
  /// call it, after they have agreed to; it waits for nobody, so that peers may send to a part that
  /// is still to be made here. `id` is the same on all of them and used once.
  virtual std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) = 0;

  /// True when close() is collective, so that the ranks must agree on it first.
  virtual bool closes_together() const = 0;
  /// Orderly end; nothing is under way.
  virtual void close() = 0;
  /// Local, bounded end of a broken transport. Returns the bytes given up for good because an
  /// abandoned message may still touch them; true in *touches_caller when messages that were not
  /// handed over are among those, so that their owner must give them up too.
  virtual size_t abandon(bool* touches_caller) noexcept = 0;

  /// Whether memory of devices can be sent from and received into.
  virtual bool takes_device_memory() const { return false; }
  /// Where large hidden parts of messages are received to from now on, if that can be. Once.
  virtual void receive_into(std::shared_ptr<Memory> /*device*/) {}

  /// Where received messages live, and those to be handed over.
  virtual Pool& pool() = 0;
  virtual const Memory& memory() const = 0;
};

}  // namespace sparsecoll
