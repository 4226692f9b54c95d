// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "transport/mpi.hpp"
#include "transport/mpi_requests.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// Where a peer is reached in an MPI communicator.
struct MpiAddress {
  int rank;
  int tag;  ///< under which it receives
};

/// The sending side of a transport over MPI; mpi_inbox.hpp says in which form messages travel.
class MpiOutbox {
 public:
  using OwnedMessage = std::shared_ptr<Buffer>;  ///< of a message that was handed over, else null

  struct Options {
    size_t chunk;                 ///< largest single message of MPI
    std::vector<bool> eager;  ///< by peer: what can be is sent to it in pieces
  };

  MpiOutbox(MPI_Comm comm, std::vector<MpiAddress> peers, Options options)
      : comm_(comm),
        peers_(std::move(peers)),
        options_(std::move(options)),
        open_(peers_.size()),
        under_way_(peers_.size()),
        announced_(std::make_unique<std::deque<Announcement>>()) {}

  void send(int peer, ConstBytes bytes, const OwnedMessage& owner);
  void open(int peer, const MessageLength& length, const OwnedMessage& owner);
  void send_chunk(int peer, ConstBytes part, const OwnedMessage& owner);

  /// Moves what is under way.
  void progress();
  size_t unsent() const { return unsent_; }
  size_t unsent_handed_over() const { return unsent_handed_over_; }
  size_t unsent_to(int peer) const;
  /// Gives up, and counts, the memory that was handed over and that MPI may still read.
  size_t abandon() noexcept;

 private:
  struct Sending {
    int peer;
    size_t bytes;
    OwnedMessage owner;
  };
  using Announcement = std::array<uint64_t, 2>;  ///< bytes of a message, and of what is hidden

  void give_up_open(int peer);
  void start(int peer, ConstBytes bytes, const OwnedMessage& owner);
  void start_eager(int peer, ConstBytes message, const OwnedMessage& owner);
  size_t& unsent_of(const OwnedMessage& owner) { return owner ? unsent_handed_over_ : unsent_; }

  MPI_Comm comm_;
  std::vector<MpiAddress> peers_;
  const Options options_;
  std::vector<size_t> open_;  ///< by peer: bytes of an announced message that are still to come
  MpiRequests<Sending> under_way_;
  std::unique_ptr<std::deque<Announcement>> announced_;  ///< on their way; a deque moves none
  size_t unsent_ = 0;
  size_t unsent_handed_over_ = 0;
};

}  // namespace sparsecoll
