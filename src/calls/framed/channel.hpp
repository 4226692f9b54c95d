// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "calls/framed/frame.hpp"
#include "calls/message_trace.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "core/stats.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// A longer payload leaves piece by piece, as it is made; what MPI then sends them in is its
/// transport's.
inline constexpr size_t kChunk = size_t{1} << 20;

/// One that is sent as a whole. `twin`: the same as it was sent to another peer in this call,
/// behind its header; null: it was not.
struct Payload {
  std::byte* data;
  size_t bytes;
  const std::byte* twin = nullptr;
};

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

/// Frames between the ranks of one communicator, checked and sorted by sender; lives through all
/// its calls. A peer that is ahead may already have sent frames of the next call.
class Channel {
 public:
  /// `verify`: checksums are made and checked. Call 0, which agrees on that, always has them.
  /// `piece`, a multiple of 8, is for tests.
  Channel(Transport& transport, Memory& memory, bool verify, size_t piece = kChunk);

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
  void send(int peer, FrameHeader header, const Payload& payload);
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
  std::vector<int> left() const { return transport_.gone_before(current_); }
  /// Throws RemoteError if a peer that was gone before the last pump() is still awaited.
  void give_up_on(const std::vector<int>& gone, const std::vector<int>& awaited) const;

  Transport& transport() { return transport_; }

 private:
  MessageTrace* trace() { return trace_ ? &*trace_ : nullptr; }
  bool has_checksum(const FrameHeader& header) const { return verify_ || header.sequence == 0; }
  /// Completes it for that payload and puts it at `head`.
  void put_header(int peer, FrameHeader header, const Framed& payload, std::byte* head);
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
