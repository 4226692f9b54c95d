// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"
#include "kernels/device.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll {

class StreamWatchdog;

/// What calls in stream order share, through the life of their communicator.
struct StreamResources {
  StreamTransport& transport;
  Device& device;  ///< begun while a call is made
  StreamWatchdog& watch;
  Arena& arena;  ///< of the host
  DeviceReport books;
};

/// A call whose messages go from device to device in the order of a stream, over NCCL.
///
/// Messages of agreed size begin with a stamp, [number of the call, hash of what the sender was
/// called with], which the receiver compares on the device: a mismatch raises an alarm that the
/// host finds later, and that is fatal. Those of unknown size are announced by messages of fixed
/// size, for which the host waits. meet_all() compares in words what all ranks were called with,
/// before anything else is sent.
class StreamCall final : public AgreedCall {
 public:
  struct Parameters {
    Descriptor descriptor;
    std::span<const Descriptor> members;  ///< of a group; outlive the call
    uint64_t number;                      ///< of the calls that were made over this transport
    uint64_t sequence;
    Deadline deadline;
  };

  StreamCall(const StreamResources& end, const Parameters& terms, Stats& stats);

  int rank() const override { return end_.transport.rank(); }
  int size() const override { return end_.transport.size(); }
  bool in_stream_order() const override { return true; }
  void read_with(Kernels&) override {}
  Stats& stats() override { return stats_; }
  uint64_t sequence() const override { return terms_.sequence; }
  uint64_t number() const override { return terms_.number; }
  const Deadline& deadline() const override { return terms_.deadline; }

  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  /// The same of messages of agreed size, in memory that outlives the call at both ends, which what
  /// is queued next does not wait for.
  std::shared_ptr<Event> exchange_concurrently(std::span<Transfer> transfers);
  /// What is queued next comes after that.
  void wait_for(const Event& event);
  void agree() override;
  void confirm() override;
  void settle(Kernels& kernels, const CallCounts& counts) override;

  /// Tells all ranks what this one was called with and what was wrong with it, if anything; waits.
  /// Where they disagree it throws, on all of them: `problem`, or InvalidUsage in words.
  void meet_all(const Error* problem);

 private:
  /// One message of known size. Sent from `at`, or set to where it has come.
  struct Piece {
    int peer;
    bool sends;
    MessageMemory message_memory;
    std::byte* at;
    size_t bytes;
  };
  class Pieces;
  struct Notice;

  Kernels& kernels();
  void announce(std::span<Transfer> transfers, std::vector<Piece>& pieces);
  void take(std::span<Transfer> transfers, std::span<const Piece> pieces);
  void send_announced(std::span<Transfer> transfers);
  std::byte* stamped_on_host(const Packet& packet);
  std::byte* stamped_in_place(const Packet& packet);
  size_t used(const Packet& packet);
  /// Moves them all at once. Waits where one comes to the host.
  void move(std::span<Piece> pieces);
  /// Throws RemoteError for the stamp of another call.
  [[noreturn]] void refuse(const Stamp& got, int peer) const;
  /// Every rank's bytes, as long as this one's, by rank.
  std::vector<ConstBytes> gather_all(ConstBytes own);
  std::string verdict(const std::vector<ConstBytes>& notices);
  std::string difference_of_members();

  const StreamResources& end_;
  Parameters terms_;
  Stamp stamp_;
  Stats& stats_;
  bool met_ = false;
  bool settled_ = false;  ///< a part of it: another of its group adds to that
};

}  // namespace sparsecoll
