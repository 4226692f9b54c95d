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

/// How messages travel under one tag, on which MPI keeps the order of each sender's. One of 1 to
/// `chunk` bytes is a message of MPI, unless it would be taken for the first of one in pieces
/// (mpi_eager.hpp), which need no more words than their sizes. Any other is announced: an empty
/// message of MPI, one that holds the size (uint64_t), and chunks of at least a byte until that is
/// reached; an empty one ends a message that its sender gives up. Where something is hidden at its
/// end, how much follows the size (uint64_t), and no chunk holds something of both.
///
/// The receiving side: what comes in for this rank under its tag.
class MpiInbox {
 public:
  struct Address {
    MPI_Comm comm;
    int tag;
  };

  /// `ranks`: of the peers in that MPI communicator.
  MpiInbox(const Address& own, const std::vector<int>& ranks, Pool& pool);

  /// Where MPI puts large hidden parts from now on; before, and where there is no room, they come
  /// to the host. Once.
  void set_device_memory(std::shared_ptr<Memory> device);

  /// A message that is complete, if there is one; moves what is under way.
  std::optional<ReceivedMessage> poll();
  /// Forgets everything; gives up, and counts, the memory that MPI may still write to.
  size_t abandon() noexcept;

 private:
  struct Incoming {
    int peer;
    bool announced;  ///< but its size is still to come
    Buffer bytes;
    Buffer hidden = {};    ///< what follows, on a device
    size_t claimed = 0;    ///< bytes whose chunks have been matched, or are awaited in their place
    size_t under_way = 0;  ///< requests
    bool given_up = false;

    size_t size() const { return bytes.size() + hidden.size(); }
    bool complete() const { return !announced && under_way == 0 && claimed == size(); }
  };
  /// What a request is for.
  struct Receiving {
    int peer;
    Incoming* message;
    size_t most;  ///< bytes
    bool ends;    ///< the message, which is as much shorter as less comes
  };
  /// The device's memory and the blocks that there are of it.
  struct DevicePool {
    explicit DevicePool(std::shared_ptr<Memory> device) : memory(std::move(device)), pool(*memory) {}
    std::shared_ptr<Memory> memory;
    Pool pool;
  };
  struct Matched {
    int peer;
    int source;  ///< the same in MPI's communicator
    int bytes;
    MPI_Message message;
  };

  std::optional<Matched> match();
  /// The message of that peer of which not all has been matched; null if there is none.
  Incoming* unfinished(int peer);
  void begin(Matched& first);
  void take_size(Incoming& target, Matched& piece);
  void make_room(Incoming& target, const MessageLength& length);
  void take_chunk(Incoming& target, Matched& piece);
  /// Of a message in pieces all but the first, which come to their places by themselves.
  void await_eager_chunks(Incoming& target, int source, size_t pieces);
  void progress();
  bool earlier_from(std::list<Incoming>::iterator message);

  Address own_;
  std::vector<int> peers_;  ///< number of the peer by rank in the MPI communicator
  Pool& pool_;
  std::unique_ptr<DevicePool> device_pool_;
  std::list<Incoming> incoming_;  ///< requests know where each is
  MpiRequests<Receiving> under_way_;
};

}  // namespace sparsecoll
