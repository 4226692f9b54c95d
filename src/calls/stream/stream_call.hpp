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

/// The objects that all calls in stream order of one communicator share.
struct StreamResources {
  StreamTransport& transport;
  Device& device;  ///< The device, on which the call has begun.
  StreamWatchdog& watchdog;
  Arena& arena;  ///< the host's workspace
  DeviceReport report;
  const bool& joined;  ///< The ranks of a node have joined for sums.
};

/// A call whose messages go from device to device in the order of a stream, over NCCL.
///
/// A message of agreed size begins with a stamp: the number of the call and the hash of the
/// sender's arguments. The receiver compares it on the device. A difference raises an alarm, which
/// the host finds later and which is fatal. A message of unknown size is announced by one of fixed
/// size, for which the host waits. compare_arguments() compares the arguments of all ranks before
/// anything else is sent.
class StreamCall final : public AgreedCall {
 public:
  /// `number`: number of the call among those over this transport. The members of the identity
  /// outlive the call.
  StreamCall(const StreamResources& resources, const CallParameters& parameters,
             const CallIdentity& identity, uint64_t number);

  int rank() const override { return resources_.transport.rank(); }
  int size() const override { return resources_.transport.size(); }
  bool in_stream_order() const override { return true; }
  bool can_reduce_in_node() const override { return resources_.joined; }
  void reduce_scatter_in_node(const void* in, size_t shares, size_t count, DataType type,
                              void* out) override;
  void set_kernels(Kernels&) override {}
  Stats& stats() override { return parameters_.stats; }
  uint64_t sequence() const override { return parameters_.sequence; }
  uint64_t number() const override { return stamp_.sequence; }
  const Deadline& deadline() const override { return parameters_.deadline; }

  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;
  /// Makes an exchange that later work does not wait for. Returns the event of its end. All
  /// messages have agreed sizes, and their memory outlives the call at both ends.
  std::shared_ptr<Event> exchange_concurrently(std::span<Transfer> transfers);
  /// Orders later work behind this event.
  void wait_for(const Event& event);
  void agree() override;
  void confirm() override;
  void confirm_counts(Kernels& kernels, const CallCounts& counts) override;

  /// Sends this rank's arguments to all ranks and waits for theirs. `problem` is the error of this
  /// rank's arguments, or null if they are good. If arguments are bad or differ, all ranks throw: a
  /// rank with bad arguments throws `problem`, any other rank InvalidUsage with the reason.
  void compare_arguments(const Error* problem);

 private:
  /// A message of known size.
  struct StreamMessage {
    int peer;
    bool sends;  ///< true: the message is sent; false: it is received
    MessageMemory message_memory;
    std::byte* at;  ///< the address of the message; the exchange sets it for received messages
    size_t bytes;
  };
  struct Notice;

  /// Returns kernels for moving bytes, whatever their type.
  Kernels& kernels();
  /// Adds the messages that are exchanged first: those of agreed size, and announcements of the
  /// others.
  void add_first_messages(std::span<Transfer> transfers, std::vector<StreamMessage>& messages);
  /// Checks the stamps of the received messages and sets the transfers' `in`.
  void receive_first_messages(std::span<Transfer> transfers,
                              std::span<const StreamMessage> messages);
  /// Exchanges the messages that were announced.
  void exchange_announced(std::span<Transfer> transfers);
  /// Returns a stamped copy of a packet in host memory, or its announcement.
  std::byte* stamped_on_host(const Packet& packet);
  /// Returns the packet in memory of the device with room in front of it for the stamp.
  std::byte* room_for_stamp(const Packet& packet);
  /// Returns how many bytes of a packet are sent.
  size_t used(const Packet& packet);
  /// Exchanges all of these messages. Waits if one is received in host memory.
  void exchange_messages(std::span<StreamMessage> messages);
  /// Throws RemoteError for the stamp of another call.
  [[noreturn]] void refuse(const Stamp& got, int peer) const;
  /// Returns the bytes of every rank, by rank. All ranks pass equally many.
  std::vector<ConstBytes> allgather(ConstBytes own);

  const StreamResources& resources_;
  CallParameters parameters_;
  CallIdentity identity_;
  Stamp stamp_;
  bool compared_ = false;  ///< compare_arguments() has run
  bool counted_ = false;   ///< a verb of a group has confirmed its counts, to which the next verbs
                           ///< add theirs
};

}  // namespace sparsecoll
