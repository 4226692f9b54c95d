// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/deadline.hpp"
#include "transport/rendezvous/session.hpp"

namespace sparsecoll::rendezvous {

/// A connection that the server has accepted. No function waits.
class Connection final : public Guest {
 public:
  Connection(int fd, SocketAddress from) : fd_(fd), from_(std::move(from)) {}
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const Frame& frame) override { outgoing_.push_back(frame); }
  std::string name() const override { return from_.name(); }

  int fd() const { return fd_; }
  Clock::time_point since() const { return since_; }
  bool wants_to_write() const { return !outgoing_.empty(); }
  /// Writes as much as possible without waiting. Returns false if the connection has ended.
  bool write();
  /// Reads the bytes that have arrived. Returns false if the connection has ended.
  bool read();
  /// Removes and returns the first `bytes` of the bytes that were read, if there are that many.
  std::optional<std::vector<std::byte>> take(size_t bytes);
  /// Returns the first bytes that were read.
  ConstBytes received() const { return received_; }

  Session* session = nullptr;  ///< null: the client has not sent a valid secret
  int rank = -1;
  bool refused = false;  ///< the connection is closed when all is written

 private:
  const int fd_;
  const SocketAddress from_;
  const Clock::time_point since_ = Clock::now();
  std::vector<std::byte> received_;
  std::deque<Frame> outgoing_;
  size_t written_ = 0;  ///< bytes of the first frame
};

}  // namespace sparsecoll::rendezvous
