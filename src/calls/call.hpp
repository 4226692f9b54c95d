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

/// A message to be sent, where the place has its messages. kHeadroom bytes in front of `data`
/// belong to the Call, which frames it there. Legs in a row may send the same one.
struct Packet {
  std::byte* data = nullptr;       ///< null: nothing is sent
  size_t bound = 0;                ///< bytes at most, all of which are there
  const uint64_t* used = nullptr;  ///< bytes, a count in the place's memory; null: exactly bound
  size_t agreed = kUnknownSize;    ///< the receiver's in_bound

  bool operator==(const Packet&) const = default;
};

/// Whose memory a message is in, at both ends: the place's for messages, or in any case the host's.
enum class MessageMemory { backend, host };

/// What is sent to and received from one peer in one exchange.
struct Transfer {
  int peer = 0;
  Packet out;
  size_t in_bound = 0;  ///< bytes at most; 0: nothing is received; kUnknownSize: any size
  ConstBytes in;  ///< set by exchange(); lives as long as the call; may be as long as in_bound
  MessageMemory message_memory = MessageMemory::backend;
  std::byte* into = nullptr;  ///< where to, in stream order, kHeadroom first; null: workspace
};

/// A message of so many bytes to one rank, and one that comes from another.
struct Probe {
  int to;
  int from;
  size_t bytes;
};

/// One collective call in progress, as the algorithms see it. Agreement between the ranks lives
/// behind it: an exchange throws when a rank abandoned the call.
class Call {
 public:
  virtual ~Call() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends in the order of the legs, receives all of them. Waits for what comes in, but for calls
  /// in stream order, which wait for messages of unknown size and on the host only. All ranks make
  /// the same number of exchanges in a call, some of nothing if need be, since members of a group
  /// share theirs (but see uneven()).
  void exchange(std::span<Transfer> transfers) {
    exchange_each(transfers, [](size_t) {});
  }
  /// The same; on_message is told of each message that is there, of some before others have come.
  virtual void exchange_each(std::span<Transfer> transfers,
                             FunctionRef<void(size_t transfer)> on_message) = 0;
  /// From here on ranks may make different numbers of exchanges. All say so at the same point, and
  /// each makes at least one more, if there is more than one rank.
  virtual void uneven() {}
  /// Messages go from place to place when the work before them has run; the host does not see them.
  virtual bool in_stream_order() const { return false; }
  /// In what time that happens; nothing where nobody can tell, since the host does not see messages
  /// or others travel with them.
  virtual std::optional<double> probe(const Probe&) { return {}; }
  /// What came in this call was sent after its sender had heard from these ranks, whether or not it
  /// said so.
  virtual void learn_of(std::span<const int> /*ranks*/) {}
  /// The rank of that peer for the user's eyes, where this is a call among some ranks only.
  virtual int rank_of(int peer) const { return peer; }
};

/// Tells of all messages, for calls in which they come together.
void tell_all(std::span<const Transfer> transfers, FunctionRef<void(size_t transfer)> on_message);

/// Throws where malformed messages were met.
void expect_sound(uint64_t malformed);

/// A call as the verb sees it that makes it: it also ends with the agreement of all ranks.
class AgreedCall : public Call {
 public:
  /// Whose counts say how much of a packet is used.
  virtual void read_with(Kernels& kernels) = 0;
  virtual Stats& stats() = 0;
  /// Number of the call.
  virtual uint64_t sequence() const = 0;
  /// The same on all ranks, whatever a rank counted that was not made.
  virtual uint64_t number() const { return sequence(); }
  virtual const Deadline& deadline() const = 0;
  /// Makes sure that all ranks made this call. For calls that exchange nothing else.
  virtual void agree() = 0;
  /// Instead of what follows, for results that the host need not know: nothing was malformed, all
  /// ranks made this call, and the statistics know its counts; or, in stream order, all of that is
  /// found out later.
  virtual void settle(Kernels& kernels, const CallCounts& counts);
  /// Called when the result is known: checks that all ranks made this call and that everything sent
  /// has left this rank's memory. Only after it are outputs and residuals touched.
  virtual void confirm() = 0;
};

}  // namespace sparsecoll
