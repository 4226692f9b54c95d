// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deadline.hpp"
#include "core/error.hpp"
#include "transport/bootstrap.hpp"
#include "transport/rendezvous/protocol.hpp"

namespace sparsecoll::rendezvous {

/// The number of a rank, and the number of ranks.
struct Numbering {
  int rank;
  int ranks;  ///< number of ranks
};

/// One rank's connection to the server of an id. The first allgather waits until all ranks have
/// connected.
class Client final : public Bootstrap {
 public:
  Client(const UniqueId& id, const Numbering& numbering, const Deadline& deadline);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Throws InvalidUsage if the ranks do not belong together, Timeout if some did not connect,
  /// RemoteError if one failed or left, and SystemError if the server cannot be reached.
  std::vector<std::byte> allgather(ConstBytes own) override;
  /// Notifies the others that this rank has failed.
  void give_up(const Error& error) noexcept;

 private:
  /// Connects and sends the greeting. Waits until the server listens, but only briefly if it
  /// refuses the connection.
  void connect();
  bool try_to_connect();
  void greet();
  void disconnect() noexcept;
  std::vector<std::byte> exchange(const Frame& own);
  /// Writes all bytes. Returns false if the connection has ended.
  bool write(ConstBytes bytes);
  /// Reads exactly `bytes` bytes. Returns false if the connection has ended.
  bool read(std::byte* to, size_t bytes);
  /// Waits until the socket is ready for these events of poll().
  void wait(short events);
  Clock::duration left() const;

  const UniqueId id_;
  const Numbering numbering_;
  const Deadline deadline_;
  int fd_ = -1;
  bool answered_ = false;  ///< the server has accepted this rank
};

}  // namespace sparsecoll::rendezvous
