// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collectives/message_trace.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "core/stats.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

enum class FrameKind : uint16_t { data = 1, abandon = 2, fatal = 3, gossip = 4 };

/// In front of every message between ranks.
struct FrameHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t kind;
  uint64_t sequence;       ///< of the collective call
  uint64_t descriptor;     ///< hash of what the sender was called with
  uint32_t covered_first;  ///< ranks [first, first + count) modulo P are known to the sender to
  uint32_t covered_count;  ///< have made this call with this descriptor
  uint64_t ordinal;        ///< how many frames this sender sent to this receiver before
  uint64_t payload;        ///< bytes that follow
  uint64_t checksum;       ///< of header (with 0 here) and payload
  uint32_t result;         ///< of a fatal notice: the sparsecollResult_t of the sender
  uint16_t tail;           ///< bytes behind the payload: 0, or 8 with the payload's checksum, which
                           ///< then is no part of the one above
  uint16_t hidden;         ///< 1: the sender's host did not see the payload, so that no checksum
                           ///< covers it
};
static_assert(sizeof(FrameHeader) == 64);

struct Frame {
  FrameHeader header;
  Buffer buffer;
  Buffer hidden = {};  ///< the payload, where that came to memory of this rank's device

  FrameKind kind() const { return static_cast<FrameKind>(header.kind); }
  bool is_hidden() const { return hidden.size() > 0; }
  size_t size() const { return buffer.size() + hidden.size(); }
  ConstBytes payload() const {
    if (is_hidden()) return {hidden.data(), hidden.size()};
    return ConstBytes(buffer.data(), buffer.size()).subspan(sizeof(FrameHeader), header.payload);
  }
};

/// A longer payload leaves piece by piece.
inline constexpr size_t kPiece = size_t{1} << 20;

/// One that does, or that is hidden: its pieces may still be made when the first ones leave.
struct LongPayload {
  std::byte* data;
  size_t bytes;
  std::byte* head;                               ///< for the header; in front of what the host sees
  uint64_t* tail;                                ///< for its checksum, as the payload it stays;
                                                 ///< null: it is hidden
  FunctionRef<void(const std::byte* end)> wait;  ///< until all in front of `end` is there
};

/// A peer waited for messages until its deadline passed.
class PeerTimeout : public Error {
 public:
  using Error::Error;
};

/// In front of the payload of a gossip frame. Gossip is not bound to the call in which it arrives:
/// it stays in the channel until the state takes it that it is for.
struct GossipHeader {
  uint64_t state;  ///< number of the call that made it
  uint64_t step;   ///< of the sender
  double share;    ///< p_ji, times gamma in compressed gossip
  double weight;   ///< how much of the sender's w moves
};
static_assert(sizeof(GossipHeader) == 32);

/// Frames between the ranks of one communicator, checked and sorted by sender; lives through all
/// its calls. A peer that is ahead may already have sent frames of the next call.
class Channel {
 public:
  /// `verify`: checksums are made and checked. Call 0, which agrees on that, always has them.
  /// `piece`, a multiple of 8, is for tests.
  Channel(Transport& transport, Memory& memory, bool verify, size_t piece = kPiece);

  /// From now on messages are recorded there.
  void record_in(Timeline& timeline) { trace_.emplace(timeline, transport_); }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_long(size_t payload) const { return payload > piece_; }

  /// From now on this rank is in that call. Throws RemoteError if a peer has failed in it already.
  void begin(uint64_t sequence);
  /// This rank has done its part of that call.
  void end();
  /// Fills in the header, which sits directly in front of the payload, and starts sending.
  void send(int peer, FrameHeader header, std::byte* payload, size_t bytes);
  /// The same piece by piece; in between it takes in what has arrived.
  void send_long(int peer, FrameHeader header, const LongPayload& payload);
  /// The same for a message that may outlive the call; the payload starts behind the header's room.
  void hand_over(int peer, FrameHeader header, Buffer frame);
  /// Takes in all that has arrived. Throws RemoteError for a damaged frame and for a peer's notice
  /// that it failed; as PeerTimeout if it waited in vain. Who failed in a later call has done its
  /// part of this one: its notice waits in the queue for that call. `visit` sees each new frame
  /// as soon as it is queued.
  void pump(FunctionRef<void(int peer, const Frame&)> visit);
  std::deque<Frame>& queue(int peer) { return queues_[static_cast<size_t>(peer)]; }
  /// Gossip of that peer, in the order of its sending, for every state.
  std::deque<Frame>& gossip(int peer) { return gossip_[static_cast<size_t>(peer)]; }
  /// From now on gossip for this state is kept; states are numbered by rising calls.
  void open(uint64_t state);
  bool gossiped() const { return newest_state_ > 0; }
  /// Gossip for this state is thrown away, now and later.
  void close(uint64_t state) noexcept;

  /// Tells all peers, as far as that works without waiting, that this rank failed in the call that
  /// it is in, or in the next one where it has ended that.
  void send_fatal(const Error& error) noexcept;
  /// Gives those notices up for good, for a transport that may still touch them; returns the bytes.
  size_t leak() noexcept;

  /// From any thread: whoever waits stops.
  void abort() noexcept;
  bool aborted() const { return aborted_; }
  /// The payload comes to the host.
  void uncover(Frame& frame);
  /// Throws if peers did not come in time or the communicator was aborted; otherwise lets some time
  /// pass.
  void pause(const Deadline& deadline, FunctionRef<std::string()> missing);
  void flush(const Deadline& deadline);
  /// The same for everything that was handed over.
  void flush_handed_over(const Deadline& deadline);

  /// Those of the peers that will not send any more; what they sent before may still come in.
  std::vector<int> gone(const std::vector<int>& peers) const;
  /// Those that are gone without having made their part of the call that this rank is in: whoever
  /// else is awaited may wait for them in vain.
  std::vector<int> left() const { return transport_.left_before(current_); }
  /// Throws RemoteError if a peer that was gone before the last pump() is still awaited.
  void give_up_on(const std::vector<int>& gone, const std::vector<int>& awaited) const;

  Transport& transport() { return transport_; }

 private:
  MessageTrace* trace() { return trace_ ? &*trace_ : nullptr; }
  bool has_checksum(const FrameHeader& header) const { return verify_ || header.sequence == 0; }
  /// Completes it for that payload and puts it at `head`.
  void put_header(int peer, FrameHeader header, ConstBytes payload, std::byte* head);
  void check(int peer, const Frame& frame) const;
  bool wanted(const Frame& gossip) const;
  void flush_until_0(const Deadline& deadline, size_t (Transport::*unsent)());
  bool ends_call(const Frame& frame) const {
    return frame.kind() == FrameKind::fatal && frame.header.sequence <= current_;
  }
  [[noreturn]] static void throw_notice(int peer, const Frame& frame);

  Transport& transport_;
  Memory& memory_;
  int rank_;
  int size_;
  bool verify_;
  size_t piece_;
  std::atomic<bool> aborted_{false};
  uint64_t current_ = 0;  ///< the last call that this rank began
  bool ended_ = false;    ///< and has done its part of
  std::vector<std::deque<Frame>> queues_;
  std::vector<std::deque<Frame>> gossip_;
  std::vector<uint64_t> states_;  ///< open ones, rising
  uint64_t newest_state_ = 0;     ///< that was ever open here
  std::vector<uint64_t> sent_;
  std::vector<uint64_t> received_;
  std::vector<Block> notices_;  ///< fatal ones, kept while they are under way
  std::optional<MessageTrace> trace_;
};

/// "2, 5 and 7" - for messages that name ranks.
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace sparsecoll
