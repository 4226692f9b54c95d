// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "transport/mpi_requests.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// Receives the messages that are sent to this rank under its tag.
///
/// MPI keeps the order of the messages that a sender sends under one tag. A message is sent in one
/// of three forms:
/// - as it is: one MPI message of 1 to MpiOptions::max_message bytes. Its size must not be that of
///   the first chunk of an eager message.
/// - eager: in chunks. The size of the first one determines their number (mpi_eager.hpp).
/// - announced: an empty MPI message, then one with the size of the message (uint64_t), then chunks
///   of at least a byte until all bytes are sent. An empty chunk cancels the message. If bytes at
///   the end may be in device memory, their number (uint64_t) follows the size, and no chunk has
///   bytes of both kinds.
class MpiInbox {
 public:
  struct Address {
    MPI_Comm comm;
    int tag;
  };

  /// `ranks` are the ranks of the peers in the MPI communicator.
  MpiInbox(const Address& own, const std::vector<int>& ranks, Pool& pool);

  /// Lets MPI receive the device bytes of large messages into this memory from now on. Without it,
  /// or if the memory is exhausted, they are received into host memory. Called at most once.
  void set_device_memory(std::shared_ptr<Memory> device);

  /// Returns whether a message has been announced or received in part.
  bool is_receiving() const { return !incoming_.empty(); }
  /// Makes progress. Returns whether poll() has something to return.
  bool look();
  /// Returns the next complete message, if there is one, and makes progress.
  std::optional<ReceivedMessage> poll();
  /// Forgets all messages. Leaks the memory that MPI may still write to and returns its size.
  size_t abandon() noexcept;

 private:
  struct Incoming {
    int peer;
    bool announced;  ///< the message is announced, and its size is not yet known
    Buffer bytes;
    Buffer device_tail = {};  ///< the rest of the message, in device memory
    size_t matched = 0;       ///< bytes whose receives have been started
    size_t pending = 0;       ///< receives that are not complete
    bool cancelled = false;

    size_t size() const { return bytes.size() + device_tail.size(); }
    bool complete() const { return !announced && pending == 0 && matched == size(); }
  };
  /// The receive of one chunk.
  struct Receiving {
    int peer;
    Incoming* message;
    size_t max_bytes;
    bool last_eager;  ///< the last chunk of an eager message, which may be shorter than max_bytes
  };
  /// The device memory that MPI receives into.
  struct DevicePool {
    explicit DevicePool(std::shared_ptr<Memory> device)
        : memory(std::move(device)), pool(*memory) {}
    std::shared_ptr<Memory> memory;
    Pool pool;
  };
  /// An MPI message that can be received at once.
  struct Matched {
    int peer;
    int source;  ///< the peer's rank in the MPI communicator
    int bytes;
    MPI_Message message;
  };

  std::optional<Matched> match();
  /// Begins to receive what has arrived.
  void match_arrived();
  std::optional<ReceivedMessage> take_complete();
  /// Returns the message of that peer whose chunks are not all matched, or null.
  Incoming* unfinished(int peer);
  void begin_message(Matched& first);
  void receive_size(Incoming& target, Matched& announcement);
  void allocate(Incoming& target, const MessageLength& length);
  void receive_chunk(Incoming& target, Matched& chunk);
  /// Starts the receives of an eager message's chunks after the first.
  void receive_eager_chunks(Incoming& target, int source, size_t chunks);
  void progress();
  /// Returns true if an earlier message of the same peer is not yet complete.
  bool is_blocked(std::list<Incoming>::iterator message);

  Address own_;
  std::vector<int> peers_;  ///< by rank in the MPI communicator: the peer, or kNoPeer
  Pool& pool_;
  std::unique_ptr<DevicePool> device_pool_;
  std::list<Incoming> incoming_;  ///< a list, because requests point to its elements
  MpiRequests<Receiving> requests_;
};

}  // namespace sparsecoll
