// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "transport/transport.hpp"

namespace sparsecoll::ucx {

/// The header of each active message. Its bytes are sent as they are.
struct MessageHeader {
  uint64_t mailbox;  ///< the address of the receiver's mailbox
  uint64_t number;   ///< counts the messages of this sender to this mailbox, from 0
  uint64_t bytes;    ///< bytes of the whole message
  uint64_t offset;   ///< offset of this fragment in the message; if it cancels: the bytes that were
                     ///< sent before
  uint32_t sender;   ///< the sender's rank in the communicator
  uint32_t cancels;  ///< 1: the rest of the message will not be sent; there is no fragment
};

/// One rank's end of one communicator: the messages that it receives, and how much of what it sends
/// is still on its way. It exists as soon as its address is given out, so that peers may send to it
/// before this rank has made its transport.
///
/// Fragments may arrive in any order. Messages become ready in the order of each sender.
class Mailbox {
 public:
  /// `ranks`: the number of possible senders.
  Mailbox(uint64_t address, size_t ranks);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Each communicator has a mailbox with an odd address; the even one behind it is that of its
  /// recovery.
  static constexpr uint64_t kFirstAddress = 1;
  static constexpr uint64_t recovery_address(uint64_t address) { return address + 1; }
  static constexpr bool is_recovery_address(uint64_t address) { return address % 2 == 0; }

  uint64_t address() const { return address_; }
  Pool& pool() { return pool_; }
  const Memory& memory() const { return memory_; }

  // --- Receiving
  /// Puts a fragment into its message. Throws RemoteError if the header is damaged, and
  /// std::bad_alloc.
  void put(const MessageHeader& header, ConstBytes bytes);
  void cancel(const MessageHeader& header);
  /// Returns the next message that is ready, if there is one.
  std::optional<ReceivedMessage> take();
  /// Makes check() throw this error, unless there is an earlier one.
  void fail_with(const Error& error);
  void check() const;

  // --- Sending
  size_t unsent = 0;              ///< bytes of the caller's messages
  size_t unsent_handed_over = 0;  ///< bytes of messages that were handed over
  std::vector<size_t> unsent_to;  ///< the sum of both, by peer
  std::vector<size_t> handed_over_to;
  /// Adds to the bytes that are being sent to a peer, modulo 2^64.
  void count(int peer, size_t bytes, bool handed_over);

  // --- Waiting
  /// Returns a number that rises with each event: a message, a failure, bytes that were sent. A
  /// waiting rank polls again when the number has changed.
  uint64_t events() const { return events_; }
  /// Counts an event, and wakes the rank if it sleeps.
  void notify();
  /// Wakes the rank. Any thread may call it.
  void wake() noexcept;
  int wake_fd() const { return wake_fd_; }
  void clear_wake() noexcept;
  bool sleeps = false;

 private:
  struct Incoming {
    Buffer bytes;
    size_t size = 0;
    size_t expected = 0;  ///< fewer than `size` if the message was cancelled
    size_t arrived = 0;
    bool begun = false;
    bool cancelled = false;
    bool is_ready() const { return (begun || cancelled) && arrived == expected; }
  };
  struct Sender {
    uint64_t next = 0;  ///< number of the first message of `messages`
    std::deque<Incoming> messages;
    bool listed = false;  ///< the sender is in ready_
  };

  /// Returns the message to which a header belongs. Creates it if it is new.
  Incoming& message_of(const MessageHeader& header);
  /// Notes that the sender's first message may be ready.
  void look_at(uint32_t sender);

  const uint64_t address_;
  Memory memory_;
  Pool pool_{memory_};
  std::vector<Sender> senders_;  // declared after the pool, to which their buffers return
  std::deque<uint32_t> ready_;   ///< senders whose first message is ready
  std::optional<Error> failure_;
  std::atomic<uint64_t> events_{0};
  int wake_fd_;
};

}  // namespace sparsecoll::ucx
