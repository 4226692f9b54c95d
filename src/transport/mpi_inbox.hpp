// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "transport/transport.hpp"

namespace sparsecoll {

/// How messages travel under one tag, on which MPI keeps the order of each sender's. One of 1 to
/// `chunk` bytes is a message of MPI. Any other is announced: an empty message of MPI, one that
/// holds the size (uint64_t), and chunks of at least a byte until that is reached; an empty one
/// ends a message that its sender gives up. Where something is hidden at its end, how much follows
/// the size (uint64_t), and no chunk holds something of both.
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
  void receive_into(std::shared_ptr<Memory> device);

  /// A message that is complete, if there is one; moves what is under way.
  std::optional<Arrived> poll();
  /// Forgets everything; gives up, and counts, the memory that MPI may still write to.
  size_t abandon() noexcept;

 private:
  struct Incoming {
    int peer;
    bool announced;  ///< but its size is still to come
    Buffer bytes;
    Buffer hidden = {};  ///< what follows, on a device
    size_t claimed = 0;  ///< bytes whose chunks have been matched
    std::vector<MPI_Request> pending = {};
    bool given_up = false;

    size_t size() const { return bytes.size() + hidden.size(); }
  };
  /// The device's memory and the blocks that there are of it.
  struct Landing {
    explicit Landing(std::shared_ptr<Memory> device) : memory(std::move(device)), pool(*memory) {}
    std::shared_ptr<Memory> memory;
    Pool pool;
  };
  struct Matched {
    int peer;
    int bytes;
    MPI_Message message;
  };

  std::optional<Matched> match();
  /// The message of that peer of which not all has been matched; null if there is none.
  Incoming* unfinished(int peer);
  void take_size(Incoming& target, Matched& piece);
  void make_room(Incoming& target, const Length& length);
  void take_chunk(Incoming& target, Matched& piece);
  static bool complete(Incoming& message);
  bool earlier_from(std::deque<Incoming>::iterator message);

  Address own_;
  std::vector<int> peers_;  ///< number of the peer by rank in the MPI communicator
  Pool& pool_;
  std::unique_ptr<Landing> landing_;
  std::deque<Incoming> incoming_;
};

}  // namespace sparsecoll
