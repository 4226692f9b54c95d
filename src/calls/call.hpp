// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/deadline.hpp"
#include "core/function_ref.hpp"
#include "core/stats.hpp"
#include "core/types.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll {

class Kernels;

inline constexpr size_t kUnknownSize = kAll;

/// A message to be sent, in memory of the backend or of the host (see MessageMemory).
///
/// The kHeadroom bytes in front of `data` belong to the Call, which writes its header there.
/// Adjacent transfers may send the same packet to several peers.
struct Packet {
  std::byte* data = nullptr;           ///< null: nothing is sent
  size_t bound = 0;                    ///< size of the memory at `data`, and the largest message
  const uint64_t* used = nullptr;      ///< bytes to send, a count of the backend; null: `bound`
  size_t agreed_bytes = kUnknownSize;  ///< in_bound of the transfer that receives it

  bool operator==(const Packet&) const = default;
};

/// The memory that holds a message, at the sender and at the receiver: the memory that the backend
/// uses for messages, or always the host's.
enum class MessageMemory { backend, host };

/// The messages to and from one peer in one exchange.
struct Transfer {
  int peer = 0;
  Packet out;
  size_t in_bound = 0;  ///< largest message to receive; 0: none; kUnknownSize: any size
  ConstBytes in;  ///< the received message, set by exchange(). It lives as long as the call, and
                  ///< may be padded to in_bound bytes.
  MessageMemory message_memory = MessageMemory::backend;
  std::byte* into = nullptr;  ///< In stream order: where it is received; kHeadroom bytes, then
                              ///< memory for the message. Null: workspace.
};

/// A measurement: one message to a rank, and one from another rank.
struct Probe {
  int to;
  int from;
  size_t bytes;  ///< size of both messages
};

/// One collective call in progress, as algorithms use it.
///
/// A call also makes sure that all ranks make the same call: an exchange throws when a rank
/// abandoned it.
class Call {
 public:
  virtual ~Call() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends in the order of the transfers and receives all messages. Waits for the received
  /// messages; in stream order, only for those of unknown size and those in host memory. Unless
  /// allow_uneven_exchanges() was called, all ranks make the same number of exchanges in a call, if
  /// necessary empty ones, because verbs of a group share them.
  void exchange(std::span<Transfer> transfers) {
    exchange_each(transfers, [](size_t) {});
  }
  /// Makes an exchange, and calls `on_message` for each transfer with a received message. May call
  /// it for some messages before others have arrived.
  virtual void exchange_each(std::span<Transfer> transfers,
                             FunctionRef<void(size_t transfer)> on_message) = 0;
  /// Allows ranks to make different numbers of exchanges from here on. All ranks call it at the
  /// same point. With more than one rank, each makes at least one more exchange.
  virtual void allow_uneven_exchanges() {}
  /// Returns whether messages go from backend to backend in the order of streams, unseen by the
  /// host.
  virtual bool in_stream_order() const { return false; }
  /// Returns whether ranks of a node may try to read each other's memory
  /// (core/process_memory.hpp). All ranks get the same answer.
  virtual bool can_read_peers() const { return false; }
  /// Returns whether messages to this peer go through memory that both share. The peers need not
  /// get the same answer.
  virtual bool shares_memory(int /*peer*/) const { return false; }
  /// Returns whether the ranks of a node can add vectors in the order of streams, in any order of
  /// additions. All ranks get the same answer.
  virtual bool can_reduce_in_node() const { return false; }
  /// Adds over the ranks of the node: the rank at position p among them gets the sum of the p-th
  /// shares. `in` has a share of `count` values for each of the `shares` ranks. For types that are
  /// their own accumulation type. Requires can_reduce_in_node().
  virtual void reduce_scatter_in_node(const void* in, size_t shares, size_t count, DataType type,
                                      void* out);
  /// Returns whether probe() and seconds() measure; otherwise they return none.
  virtual bool measures() const { return false; }
  /// Returns the seconds that these two messages take. Returns none if they cannot be measured:
  /// the host does not see them, or the messages of other verbs are sent with them.
  virtual std::optional<double> probe(const Probe&) { return {}; }
  /// Returns the current time in seconds since a fixed moment. Returns none where probe() does.
  virtual std::optional<double> seconds() const { return {}; }
  /// Marks these ranks as covered: a received message shows that its sender has heard from them.
  virtual void mark_covered(std::span<const int> /*ranks*/) {}
  /// Returns the rank of a peer in the communicator. It differs from `peer` in a call among some
  /// ranks only. For error messages.
  virtual int communicator_rank(int peer) const { return peer; }
};

/// Calls `on_message` for every transfer that receives a message.
void visit_received(std::span<const Transfer> transfers,
                    FunctionRef<void(size_t transfer)> on_message);

/// Throws RemoteError if the number of malformed messages is not 0.
void refuse_malformed(uint64_t messages);

/// The call of a verb. It ends with the agreement of all ranks.
class AgreedCall : public Call {
 public:
  /// Sets the kernels that packed the messages, and whose counts say how long these are.
  virtual void set_kernels(Kernels& kernels) = 0;
  virtual Stats& stats() = 0;
  /// Number of the call on this rank.
  virtual uint64_t sequence() const = 0;
  /// A number of the call that is the same on all ranks, even if a rank counted calls that failed
  /// before they started.
  virtual uint64_t number() const { return sequence(); }
  virtual const Deadline& deadline() const = 0;
  /// Throws Timeout if the deadline has passed. Call it in long work that does not wait. Does
  /// nothing if only the device works.
  virtual void check_deadline() const {}
  /// Makes sure that all ranks made this call. For calls that exchange nothing.
  virtual void agree() = 0;
  /// Returns when all ranks are known to have made this call and everything sent has left this
  /// rank's memory. Outputs and residuals may be written only afterwards.
  virtual void confirm() = 0;
  /// Marks the call on this rank, before its algorithm runs. Messages carry the mark, and a rank
  /// that receives it passes it on. The algorithm must move something from each rank to each rank,
  /// so that marked() is the same on all ranks after confirm(). Not for calls in stream order.
  virtual void mark();
  virtual bool marked() const { return false; }
  /// Confirms the call, puts its counts into the statistics, and throws RemoteError if a message
  /// was malformed. In stream order it only queues this work on the device, and a failure is found
  /// by a later call. For results that the host need not read.
  virtual void confirm_counts(Kernels& kernels, const CallCounts& counts);
};

/// The properties of a call that its communicator sets before the call runs.
struct CallParameters {
  uint64_t sequence;  ///< number of the call
  Deadline deadline;
  Stats& stats;
};

}  // namespace sparsecoll
