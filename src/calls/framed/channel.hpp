// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "calls/flight_recorder.hpp"
#include "calls/framed/frame_queue.hpp"
#include "calls/message_trace.hpp"
#include "core/arena.hpp"
#include "core/deadline.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "core/stats.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// Sizes that tests make smaller.
struct ChannelLimits {
  /// A longer payload is sent chunk by chunk, while it is packed. A multiple of 8. A transport may
  /// cut chunks further.
  size_t chunk = size_t{1} << 20;
  /// The shortest payload that is sent without a checksum through shared memory.
  size_t unsummed = 4096;
  /// The most bytes of gossip that may wait in this channel for steps of this rank. Also the most
  /// that may be on the way to one peer.
  size_t waiting_gossip = size_t{1} << 30;
};

/// A payload that is complete. If this call has sent the same payload to another peer,
/// `sent_before` is that message, whose header has the checksum of the payload; otherwise it is
/// null.
struct Payload {
  std::byte* data;
  size_t bytes;
  const std::byte* sent_before = nullptr;
};

/// A payload that is sent chunk by chunk, because it is long or in memory of a device. Its last
/// chunks may still be packed when the first ones are sent.
struct LongPayload {
  std::byte* data;
  size_t bytes;
  std::byte* head;  ///< room for the header; directly in front of a payload in host memory
  uint64_t* tail;   ///< memory for the checksum, which is sent behind the payload if there is one;
                    ///< null: the payload is in memory of a device
  FunctionRef<void(const std::byte* end)> wait;  ///< returns when all bytes up to `end` are packed
};

/// A peer has reported that its deadline passed while it waited for messages.
class PeerTimeout : public Error {
 public:
  using Error::Error;
};

/// A wait of this rank for messages of peers.
struct ChannelWait {
  const Deadline& deadline;
  /// Called with each new frame as soon as it is queued.
  FunctionRef<void(int peer, const Frame&)> on_frame;
  /// Removes the peers whose messages have arrived. Clears `awaited` when the wait is over.
  FunctionRef<void(std::vector<int>& awaited)> update;
  /// Returns a text for errors that names the ranks whose messages are missing.
  FunctionRef<std::string(const std::vector<int>& awaited)> missing;
  /// If true, the wait fails also when another rank has left without doing its part of the call.
  bool needs_all_ranks = false;
  /// Decides what is thrown if a peer reports that it timed out. If true, this rank misses the same
  /// messages, so it throws Timeout with `missing` once most of its own time has passed. If false,
  /// it throws the peer's report.
  bool reports_own_timeout = true;
};

/// The frames between the ranks of one communicator, checked and sorted by sender.
///
/// A channel lives through all calls. A peer that is ahead may already have sent frames of the next
/// call. Only one thread at a time may use it; only abort() may come from any thread.
class Channel {
 public:
  /// `verify`: frames carry checksums, and receivers check them. Frames of call 0, in which the
  /// ranks agree on `verify`, always carry them.
  Channel(Transport& transport, Memory& memory, bool verify, const ChannelLimits& limits = {});

  /// Records all messages in this timeline from now on.
  void record_in(Timeline& timeline) { trace_.emplace(timeline, transport_); }
  /// Lets later waits record in this flight recorder for which peers this rank waits.
  void record_in(FlightRecorder& recorder) { recorder_ = &recorder; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether a payload of this size must be sent with send_long().
  bool is_long(size_t payload) const { return payload > limits_.chunk; }
  /// Lets a rank that waits for this rank's CPU run, if there are more ranks than CPUs.
  void yield_cpu() const {
    if (crowded_) std::this_thread::yield();
  }

  /// Returns whether a payload in host memory is sent without a checksum, because it goes through
  /// memory that both ranks share. The checksum of a shorter payload costs next to nothing.
  bool goes_unsummed(int peer, const FrameHeader& header, size_t payload) const {
    return payload >= limits_.unsummed && may_be_unsummed(static_cast<FrameKind>(header.kind)) &&
           transport_.shares_memory(peer);
  }

  /// Marks the beginning of this rank's part of a call. Throws RemoteError if a peer has already
  /// failed
  /// in the call.
  void begin(uint64_t sequence);
  /// Marks the end of this rank's part of the call.
  void end();
  /// Completes the header, which lies directly in front of the payload, and starts to send. The
  /// memory must stay until flush().
  void send(int peer, FrameHeader header, const Payload& payload);
  /// Sends a payload chunk by chunk. Receives arrived frames between the chunks. The memory must
  /// stay until flush().
  void send_long(int peer, FrameHeader header, const LongPayload& payload);
  /// Starts to send a frame that may outlive the call. Room for the header precedes the payload.
  /// Throws RemoteError if too many bytes are on the way to the peer.
  void hand_over(int peer, FrameHeader header, Buffer frame);
  /// Receives frames that have arrived, but not more than a limit, so that it returns even if
  /// frames arrive without end. Returns whether it has received all. Calls `on_frame` for each
  /// frame as soon as it is queued. Throws RemoteError for a damaged frame, for too much gossip,
  /// and for a peer's notice that it failed (PeerTimeout if its deadline passed). If the peer
  /// failed in a later call, its notice stays in the queue until this rank begins that call.
  bool progress(FunctionRef<void(int peer, const Frame&)> on_frame);
  /// Receives until nothing is awaited any more. Throws Timeout at the deadline, RemoteError if an
  /// awaited peer has gone, and whatever progress() throws.
  void wait(std::span<const int> peers, const ChannelWait& wait);
  /// Frames of this peer in the order in which it sent them.
  FrameQueue& queue(int peer) { return queues_[static_cast<size_t>(peer)]; }
  /// Calls visit(peer) for each peer whose queue is not empty, by rank.
  template <class Visit>
  void for_each_queued(Visit visit) {
    for (size_t word = 0; word < queued_.size(); ++word)
      for (uint64_t bits = queued_[word]; bits != 0; bits &= bits - 1) {
        const int bit = std::countr_zero(bits), peer = static_cast<int>(word) * 64 + bit;
        if (queue(peer).empty())
          queued_[word] &= ~(uint64_t{1} << bit);
        else
          visit(peer);
      }
  }
  /// Gossip of this peer for all states, in the order in which it sent them.
  FrameQueue& gossip(int peer) { return gossip_[static_cast<size_t>(peer)]; }
  /// Takes a frame out of the gossip of a peer. Moves `frame` to the next one.
  Frame take_gossip(int peer, FrameQueue::iterator& frame);
  /// Keeps gossip for this state from now on. States have rising numbers.
  void open(uint64_t state);
  bool gossiped() const { return newest_state_ > 0; }
  /// Returns whether gossip waits in this channel.
  bool has_gossip() const { return gossip_bytes_ > 0; }
  /// Drops the gossip for this state that has arrived and that will arrive.
  void close(uint64_t state) noexcept;

  /// Sends all peers a notice that this rank failed in its current call, or in the next one if it
  /// has ended that. Does not wait.
  void send_fatal(const Error& error) noexcept;
  /// Gives up the memory of fatal notices for good, because a transport may still access it.
  /// Returns its size in bytes.
  size_t leak() noexcept;

  /// Makes every wait of this rank fail. Any thread may call it.
  void abort() noexcept;
  bool aborted() const { return aborted_; }
  /// Makes waits fail until resume(), also one that has begun, within 20 ms. From any thread.
  void interrupt() noexcept { aborted_ = true; }
  void resume() noexcept { aborted_ = false; }
  /// Moves a payload from memory of a device to the host.
  void copy_to_host(Frame& frame);
  /// Waits until all sent memory may be used again. Receives meanwhile. Returns false if there was
  /// nothing to wait for.
  bool flush(const Deadline& deadline);
  /// Waits until all frames that were handed over have been sent. Receives meanwhile.
  void flush_handed_over(const Deadline& deadline);

  Transport& transport() { return transport_; }

 private:
  MessageTrace* trace() { return trace_ ? &*trace_ : nullptr; }
  bool has_checksum(const FrameHeader& header) const { return verify_ || header.sequence == 0; }
  /// Returns what the timeline records of the next message to the peer, or of a chunk of it.
  MessageTrace::TracedMessage traced(const char* name, int peer, const FrameHeader& header,
                                     size_t bytes) const;
  /// Completes the header for this payload and writes it to `head`.
  void put_header(int peer, FrameHeader header, const Framed& payload, std::byte* head);
  /// Checks a received message and puts it into its queue.
  void receive(ReceivedMessage message, FunctionRef<void(int peer, const Frame&)> on_frame);
  /// Receives like progress(on_frame), without a callback. A later wait looks at the queued frames.
  bool progress() {
    return progress([](int /*peer*/, const Frame&) {});
  }
  void keep_gossip(int peer);
  /// Returns whether a state of this rank is, or may yet be, open for this gossip.
  bool is_wanted(const Frame& gossip) const;
  /// Returns the peers of the list that will send nothing more. Their earlier messages may still
  /// arrive.
  std::vector<int> gone(const std::vector<int>& peers) const;
  /// Throws RemoteError if a peer of `gone` is still awaited.
  void refuse_gone(const std::vector<int>& gone, const std::vector<int>& awaited) const;
  /// Throws if the deadline has passed or the communicator was aborted.
  void check(const Deadline& deadline, FunctionRef<std::string()> missing,
             Clock::time_point now) const;
  /// Calls check(), and then waits for a short time.
  void pause(const Deadline& deadline, FunctionRef<std::string()> missing);
  bool flush_until_0(const Deadline& deadline, size_t (Transport::*unsent)());
  bool ends_call(const Frame& frame) const {
    return frame.kind() == FrameKind::fatal && frame.header.sequence <= current_;
  }
  [[noreturn]] static void throw_notice(int peer, const Frame& frame);

  Transport& transport_;
  Memory& memory_;
  int rank_;
  int size_;
  bool crowded_;  ///< there are more ranks than CPUs for them
  bool verify_;
  ChannelLimits limits_;
  std::atomic<bool> aborted_{false};
  uint64_t current_ = 0;  ///< the last call that this rank began
  bool ended_ = false;    ///< This rank has done its part of call `current_`.
  std::vector<FrameQueue> queues_;
  std::vector<uint64_t> queued_;  ///< a bit for each peer; 0: its queue is empty
  std::vector<FrameQueue> gossip_;
  size_t gossip_bytes_ = 0;       ///< bytes of the blocks in gossip_
  std::vector<uint64_t> states_;  ///< open states, rising
  uint64_t newest_state_ = 0;     ///< the newest state that was ever open here
  std::vector<int> awaited_;      ///< the peers for which wait() waits
  std::vector<uint64_t> sent_;
  std::vector<uint64_t> received_;
  std::vector<Block> notices_;  ///< fatal notices, kept while they are being sent
  std::optional<MessageTrace> trace_;
  FlightRecorder* recorder_ = nullptr;
};

/// Called in a handler of PeerTimeout. If most of this rank's own time has passed, throws Timeout
/// with `missing`, because this rank misses the same messages. Otherwise rethrows the peer's
/// report.
[[noreturn]] void rethrow_timeout(const Deadline& deadline, FunctionRef<std::string()> missing);

/// Returns the ranks as text for error messages: "ranks 2, 5 and 7".
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace sparsecoll
