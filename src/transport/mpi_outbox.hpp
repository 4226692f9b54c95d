// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "transport/mpi.hpp"
#include "transport/mpi_duplicate.hpp"
#include "transport/mpi_requests.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// The address of a peer in an MPI communicator.
struct MpiAddress {
  int rank;
  int tag;  ///< the tag under which the peer receives
};

/// Sends the messages of a transport over MPI, in the forms that MpiInbox describes.
class MpiOutbox {
 public:
  /// The buffer of a message that was handed over; null if the caller owns the bytes.
  using OwnedMessage = std::shared_ptr<Buffer>;

  struct Options {
    size_t max_message;       ///< bytes of the largest MPI message
    std::vector<bool> eager;  ///< by peer: send eager messages if possible
  };

  /// `duplicate` is told of messages that fail. It outlives this object.
  MpiOutbox(MpiDuplicate& duplicate, std::vector<MpiAddress> peers, Options options)
      : duplicate_(duplicate),
        comm_(duplicate.comm()),
        peers_(std::move(peers)),
        options_(std::move(options)),
        open_(peers_.size()),
        handed_over_to_(peers_.size()),
        requests_(peers_.size()),
        announced_(std::make_unique<std::deque<Announcement>>()) {}

  void send(int peer, ConstBytes bytes, const OwnedMessage& owner);
  void open(int peer, const MessageLength& length, const OwnedMessage& owner);
  void send_chunk(int peer, ConstBytes part, const OwnedMessage& owner);

  /// Makes progress. Throws RemoteError if a send has failed.
  void progress();
  size_t unsent() const { return unsent_; }
  size_t unsent_handed_over() const { return unsent_handed_over_; }
  size_t unsent_to(int peer) const;
  /// Returns the part of unsent_handed_over() that goes to `peer`.
  size_t handed_over_to(int peer) const { return handed_over_to_[static_cast<size_t>(peer)]; }
  /// Leaks the transport's own memory that MPI may still read, and returns its size.
  size_t abandon() noexcept;

 private:
  struct Sending {
    int peer;
    size_t bytes;
    OwnedMessage owner;
  };
  using Announcement = std::array<uint64_t, 2>;  ///< the numbers of a MessageLength

  /// Throws RemoteError if MPI's error code of a send says that it failed.
  void check(int peer, int code);
  void cancel_open(int peer);
  void start(int peer, ConstBytes bytes, const OwnedMessage& owner);
  void send_eager(int peer, ConstBytes message, const OwnedMessage& owner);
  /// Adds to the bytes that are being sent, modulo 2^64.
  void count_unsent(int peer, const OwnedMessage& owner, size_t bytes) {
    (owner ? unsent_handed_over_ : unsent_) += bytes;
    if (owner) handed_over_to_[static_cast<size_t>(peer)] += bytes;
  }

  MpiDuplicate& duplicate_;
  MPI_Comm comm_;
  std::vector<MpiAddress> peers_;
  const Options options_;
  std::vector<size_t> open_;  ///< by peer: bytes of the open message that are not yet sent
  std::vector<size_t> handed_over_to_;  ///< by peer
  MpiRequests<Sending> requests_;
  std::unique_ptr<std::deque<Announcement>> announced_;  ///< announcements that are being sent; a
                                                         ///< deque never moves its elements
  size_t unsent_ = 0;
  size_t unsent_handed_over_ = 0;
};

}  // namespace sparsecoll
